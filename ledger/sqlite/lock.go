package sqlite

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

// sideLock is a lock on a file beside the ledger that a writer holds around
// each transaction. It is for fairness only: SQLite's own write lock is
// polled, so that one of two busy processes can get everything, while the
// kernel hands a lock on a file to who asked first. What is correct rests on
// BEGIN IMMEDIATE and the busy timeout, which stay.
//
// It can't be the ledger itself: closing any descriptor of that file drops
// the locks that SQLite holds on it in this process.
type sideLock struct {
	path  string
	wait  time.Duration // then go on without it: its holder may be stopped
	until atomic.Int64  // nanoseconds since 1970: until then it isn't queued for again
}

// lockWait is how long a writer queues, and lockPause how long it then goes on
// without queueing.
const (
	lockWait  = 10 * time.Second
	lockPause = time.Minute
)

// acquire waits for the lock and gives what releases it. Only ctx makes it
// fail.
func (l *sideLock) acquire(ctx context.Context) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := flock.New(l.path)
	if ok, err := f.TryLock(); ok || err != nil {
		return func() { _ = f.Unlock() }, nil
	}
	if time.Now().UnixNano() < l.until.Load() {
		return func() {}, nil
	}
	got := make(chan struct{})
	go func() { // blocks in the kernel, which keeps the queue
		_ = f.Lock()
		close(got)
	}()
	abandon := func() {
		go func() {
			<-got
			_ = f.Unlock()
		}()
	}
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	select {
	case <-got:
		return func() { _ = f.Unlock() }, nil
	case <-ctx.Done():
		abandon()
		return nil, ctx.Err()
	case <-timer.C:
		abandon()
		l.until.Store(time.Now().Add(lockPause).UnixNano())
		return func() {}, nil
	}
}
