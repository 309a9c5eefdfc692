package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"runner/ledger"
)

// sweep removes run files that no run needs: a runner died between making
// its file and noting its run, or between noting its end and removing it. A
// locked file of another ledger means that this ledger took the place of one
// that is in use.
//
// On a shared ledger others may have taken over from a run of this host. What
// its file says ended is believed still.
func (r *recoverer) sweep(ctx context.Context, open map[string]bool, rec *Recovery) error {
	files, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		if open[f.Name()] || f.IsDir() {
			continue
		}
		path := filepath.Join(r.dir, f.Name())
		live, lock, _ := probe(path)
		h, ok, err := readHead(path)
		foreign := err == nil && ok && h.Ledger != r.ledgerID
		switch {
		case live == alive && foreign && r.leases == nil: // the folder of a shared ledger is not its own
			return &ledger.UnusableError{
				Path: r.dir, Why: "run " + h.Run + " is alive and works on another ledger that was at this place",
				Hint: "put the ledger back that was here, or wait until that run has ended",
			}
		case live == dead && !foreign && r.unknown(h, ok):
			if err := r.believe(ctx, path, h, rec); err != nil {
				closeLock(lock)
				return err
			}
			_ = os.Remove(path)
		}
		closeLock(lock)
	}
	return nil
}

// unknown tells whether the ledger holds no open run by the head's name.
func (r *recoverer) unknown(h head, ok bool) bool {
	if !ok {
		return true
	}
	runs, err := r.led.OpenRuns(context.Background())
	if err != nil {
		return false
	}
	for _, run := range runs {
		if run.ID == h.Run {
			return false
		}
	}
	return true
}

func closeLock(l *flock.Flock) {
	if l != nil {
		_ = l.Close()
	}
}
