package runner

import (
	"errors"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"golang.org/x/time/rate"

	"runner/ledger"
)

// engine is one run at work. Its fields belong to the goroutine of run; the
// workers touch only what is named so.
type engine struct {
	Options
	led      *ledger.Ledger
	ledgerID string
	host     host
	jobs     int
	row      ledger.Run
	sum      Summary
	file     *runFile
	backlog  *backlog

	settled      ledger.Counts // records of the scope that this run knows to be settled
	failedBefore []int64
	survivors    map[int64]Survivor
	asked        *roaring64.Bitmap // records whose check this run has asked
	begun        *roaring64.Bitmap // with a limit: records that this run has claimed
	recoverer    recoverer
	lease        *lease        // nil: it lives by its run file
	blind        string        // of a preview: why what is new may have been done already
	toldClosed   bool          // that was observed
	closed       *ClosedRun    // a run of the batch whose file may not be opened
	others       []ledger.Run  // that were alive at the last recovery
	paused       time.Time     // until then nothing is started
	breathing    time.Time     // until then the system can't start anything
	limited      bool          // the limit is reached: only what has begun goes on
	rate         *rate.Limiter // nil: no limit
	attempts     int64         // that have ended in this run
	bad          int64         // of them failed or in doubt

	work      chan ledger.Entry // claims, to the workers
	ended     chan ended        // what became of them, from the workers
	workers   sync.WaitGroup
	unsettled map[int64]ledger.Entry // claims by record: not yet settled in the ledger
	reports   []ledger.Report        // ended, and not yet settled
	kept      []ledger.Report        // ended after the ledger failed
	unwritten []ledger.Report        // ended, and the journal couldn't take it
	solo      bool                   // what runs must run alone
	inHand    int                    // claims that are with the workers
	pace      pace
	window    int // how many records to look at for a claim, at least

	failure     error // the ledger can't be written any more
	noJournal   error // the run file can't be: what ends goes to the ledger alone
	cantStart   int   // starts that failed, in a row
	halting     bool
	haltNews    string // why it halts, until the ledger knows
	drained     bool
	cutShort    bool      // told to stop while planning
	idleSince   time.Time // since when nothing of this run's own is left to do
	busyLeft    bool
	lookedAgain bool
	waitingLeft bool
}

// ended is what became of a claim, as a worker tells it.
type ended struct {
	ledger.Report
	halt    bool
	failure error
}

func (e *engine) now() time.Time {
	if e.led == nil {
		return time.Now().UTC()
	}
	return e.led.Now()
}

// stopping tells whether nothing more is to be started.
func (e *engine) stopping() bool {
	return e.failure != nil || e.noJournal != nil || e.halting || e.Stop.Asked()
}

// errorWord is the result of a run that couldn't go on.
func errorWord(err error) ResultWord {
	var place *PlaceError
	var def *DefinitionError
	if errors.As(err, &place) || errors.As(err, &def) {
		return Invalid
	}
	return LedgerError
}

// pace measures how fast records go, to know how many to claim ahead.
type pace struct {
	since time.Time
	ended int
	rate  float64 // per second
}

// aheadTime is how much work is claimed ahead where that is safe: enough to
// hide a commit, little enough that another run finds its share.
const (
	aheadTime = 100 * time.Millisecond
	aheadMax  = 1024
)

func (p *pace) add(n int, now time.Time) {
	if p.since.IsZero() {
		p.since = now
	}
	p.ended += n
	if d := now.Sub(p.since); d > aheadTime/2 {
		p.rate = float64(p.ended) / d.Seconds()
		p.since, p.ended = now, 0
	}
}

// ahead is how many claims beyond the running ones keep workers busy. When
// nothing has ended for a while, the records have become slower.
func (p *pace) ahead(now time.Time) int {
	rate := p.rate
	if d := now.Sub(p.since); d > 2*aheadTime {
		rate = min(rate, float64(p.ended+1)/d.Seconds())
	}
	return min(int(rate*aheadTime.Seconds()), aheadMax)
}
