package ledger

import (
	"context"
	"time"
)

// Leaser is a Store that many hosts share. No kernel can tell all of them
// whether a run is alive, so its runs live by leases, and the clock of the
// store decides: that of no host.
type Leaser interface {
	// Renew makes the lease of a run end d from now. It reports false once
	// the run has been condemned or has ended: it never lives again.
	Renew(ctx context.Context, runID string, d time.Duration) (bool, error)
	// Condemn tells that a run is dead if its lease has run out, or if there
	// is proof of its death, and reports whether it is. From then on Renew
	// fails, so that what it held can be taken over.
	Condemn(ctx context.Context, runID string, proven bool) (bool, error)
}
