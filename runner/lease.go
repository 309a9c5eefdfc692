package runner

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"runner/ledger"
	"runner/runner/watchdog"
)

// DefaultLease is for how long a run on a shared ledger counts as alive after
// its last sign of life.
const DefaultLease = 30 * time.Second

const (
	// leaseSlack is kept between the end of everything a run does and the end
	// of its lease, for a machine under load.
	leaseSlack = time.Second
	// leaseStop is how long before that the run begins to end its attempts:
	// politely, and by force KillAfter later.
	leaseStop = KillAfter + leaseSlack
)

// MinLease is the shortest lease: between the last renewal, a third of it
// late, and the begin of ending attempts another renewal must fit.
const MinLease = 2 * (leaseStop + leaseSlack)

// CheckLease refuses a lease with which two attempts could act at once.
func CheckLease(d time.Duration) error {
	if d < MinLease {
		return fmt.Errorf("a lease of %s is too short: renewed every third of it, it must leave %s to end attempts before others may start them; the shortest is %s", d, leaseStop+leaseSlack, MinLease)
	}
	return nil
}

// lease keeps a run alive on a shared ledger, and ends what it does in time
// when it can't. A nil one is that of a run that lives by its run file.
type lease struct {
	store  ledger.Leaser
	runID  string
	length time.Duration
	dog    *watchdog.Dog

	ctx    context.Context // of attempts: ended while there is time to end them
	cancel context.CancelCauseFunc
	lost   chan struct{} // closed when nothing may act any more
	quit   chan struct{}
	loops  sync.WaitGroup

	mu  sync.Mutex
	end watchdog.Instant // nothing may act from then on
	out bool             // it is lost, for good
	why error            // why, or why it could not be renewed the last time
}

// newLease starts the watchdog. The lease itself begins with the run's row,
// which must not be written before.
func newLease(store ledger.Leaser, runID string, length time.Duration, stop *Stop, argv []string) (*lease, error) {
	l := &lease{store: store, runID: runID, length: length, lost: make(chan struct{}), quit: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(stop.ctx)
	l.end = l.deadline(watchdog.Now())
	self, err := self()
	if err != nil {
		return nil, err
	}
	if l.dog, err = watchdog.Start(self, argv, l.end); err != nil {
		return nil, err
	}
	return l, nil
}

// self is this program. By this path it has a name of its own in the process
// table, so that who ends all processes named runner leaves the watchdog.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// deadline is until when attempts may act if the lease was renewed at a
// moment. The moment is that before the renewal was asked for: the store
// counts from a later one.
func (l *lease) deadline(renewed watchdog.Instant) watchdog.Instant {
	return renewed.Add(l.length - leaseSlack)
}

// keep renews the lease until close.
func (l *lease) keep() {
	if l == nil {
		return
	}
	l.loops.Go(l.renewing)
	l.loops.Go(l.watching)
}

func (l *lease) renewing() {
	next := l.length / 3
	for {
		select {
		case <-l.quit:
			return
		case <-l.lost:
			return
		case <-time.After(next):
		}
		if next = l.length / 3; !l.renew() {
			next = min(time.Second, next) // the server is away: it must be back soon
		}
	}
}

// renew tells whether the lease was renewed.
func (l *lease) renew() bool {
	asked := watchdog.Now()
	ctx, cancel := context.WithTimeout(context.Background(), l.length/3)
	defer cancel()
	ok, err := l.store.Renew(ctx, l.runID, l.length)
	if err != nil {
		l.mu.Lock()
		l.why = err
		l.mu.Unlock()
		return false
	}
	if !ok {
		l.lose(errTakenOver)
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out {
		return false // too late: its attempts have been told to end
	}
	l.end, l.why = l.deadline(asked), nil
	_ = l.dog.Deadline(l.end) // if it is gone, watching will tell
	return true
}

// watching looks at the clocks.
func (l *lease) watching() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-l.lost:
			return
		case <-l.dog.Gone():
			l.lose(errNoWatchdog)
		case <-tick.C:
			if !l.held() {
				l.lose(errNotRenewed)
			}
		}
	}
}

var (
	errTakenOver  = fmt.Errorf("others hold this run for dead, for it gave no sign of life in time, and take over what it held")
	errNoWatchdog = fmt.Errorf("its watchdog was ended")
	errNotRenewed = fmt.Errorf("its lease could not be renewed in time")
)

// held tells whether attempts may start and act.
func (l *lease) held() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.out && !l.end.Add(-leaseStop).Reached()
}

// lose ends the attempts: politely at first.
func (l *lease) lose(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out {
		return
	}
	l.out = true
	if l.why != nil {
		why = fmt.Errorf("%w: %w", why, l.why)
	}
	l.why = why
	l.cancel(ErrInterrupted)
	close(l.lost)
}

// failure says why the lease was lost.
func (l *lease) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &ledger.UnusableError{Path: "lease of run " + l.runID, Why: "it was lost", Err: l.why, Hint: "run again: what is done stays done"}
}

// begin tells that an attempt may act; false if it may not.
func (l *lease) begin(attempt string) bool {
	return l == nil || l.dog.Begin(attempt) == nil
}

func (l *lease) group(attempt string, pid int) {
	if l != nil {
		_ = l.dog.Group(attempt, pid) // if it is gone, watching will tell
	}
}

func (l *lease) ended(attempt string) {
	if l != nil {
		_ = l.dog.End(attempt) // the same
	}
}

// lostC is closed when the lease is lost; nil: it can't be.
func (l *lease) lostC() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.lost
}

// close lets the lease run out.
func (l *lease) close() {
	if l == nil {
		return
	}
	close(l.quit)
	l.loops.Wait()
	l.dog.Close()
	l.cancel(nil)
}
