package runner

import (
	"context"
	"slices"
	"time"

	"runner/ledger"
)

// over tells whether the run has nothing left to do or to wait for, also after
// a second look at survivors.
func (e *engine) over(ctx context.Context) bool { return e.idle() && !e.outlived(ctx) }

// idle tells whether nothing is left to do or to wait for, and notes what is
// left.
func (e *engine) idle() bool {
	if e.running() > 0 {
		return false
	}
	if e.stopping() || e.backlog.left.IsEmpty() {
		return true
	}
	now := e.now()
	if e.limited && len(e.backlog.due) == 0 {
		return true
	}
	if e.paused.Sub(now) > e.maxWait() {
		e.waitingLeft = true
		return true
	}
	if e.backlog.untouched(now) || len(e.backlog.alone) > 0 {
		return false
	}
	return e.waited(now)
}

// waited tells whether all that is left must wait for longer than this run
// does, and notes what.
func (e *engine) waited(now time.Time) bool {
	waits := len(e.backlog.due) > 0
	held := !e.backlog.busy.IsEmpty()
	if e.idleSince.IsZero() {
		e.idleSince = now
	}
	tooLong := waits && e.backlog.due[0].at.Sub(now) > e.maxWait()
	gone := held && now.Sub(e.idleSince) >= e.patience()
	if waits && !tooLong || held && !gone {
		return false
	}
	e.busyLeft, e.waitingLeft = held, waits
	return true
}

func (e *engine) maxWait() time.Duration {
	if e.Task.MaxWait > 0 {
		return e.Task.MaxWait
	}
	return MaxWait
}

// patience is how long to wait for records that others hold: as long as one
// attempt can take, but not at all where only survivors of dead runs hold
// them. Who runs it may say otherwise.
func (e *engine) patience() time.Duration {
	if e.Wait != nil {
		return *e.Wait
	}
	it := e.backlog.busy.Iterator()
	for it.HasNext() {
		if _, ok := e.survivors[int64(it.Next())]; !ok && e.closed == nil {
			return e.longest()
		}
	}
	return 0
}

// longest is how long one claim of another run can take.
func (e *engine) longest() time.Duration {
	p := e.Task.Policy
	more := KillAfter
	if e.lease != nil { // and if that run dies, only the end of its lease tells
		more += e.lease.length
	}
	switch {
	case p.Timeout == 0:
		return max(time.Hour, p.CheckTimeout, p.CompensateTimeout) + more
	case p.Check:
		return max(p.Timeout, p.CheckTimeout, p.CompensateTimeout) + more
	}
	return p.Timeout + more
}

// await sleeps until something has ended, something is due, it is time to
// look at what others hold, or the run is told to stop.
func (e *engine) await(ctx context.Context) error {
	var drain <-chan struct{}
	if !e.drained {
		drain = e.Stop.drain
	}
	var lost <-chan struct{}
	if e.failure == nil {
		lost = e.lease.lostC()
	}
	var alarm <-chan time.Time
	if at := e.nextLook(); !at.IsZero() && e.room() > 0 { // else an end comes first
		t := time.NewTimer(max(at.Sub(e.now()), time.Millisecond))
		defer t.Stop()
		alarm = t.C
	}
	select {
	case x := <-e.ended:
		e.receive(x)
	case <-drain:
		e.drained = true
	case <-lost:
		e.fail(e.lease.failure())
	case <-alarm:
		return e.lookAtOthers(ctx)
	}
	return nil
}

// nextLook is when a record has to be looked at again; zero if none has.
func (e *engine) nextLook() time.Time {
	var at time.Time
	if len(e.backlog.due) > 0 {
		at = e.backlog.due[0].at
	}
	if !e.backlog.busy.IsEmpty() && (at.IsZero() || e.backlog.pollAt.Before(at)) {
		at = e.backlog.pollAt
	}
	if e.paused.After(e.now()) {
		return e.paused
	}
	return e.nextToken(at)
}

// nextToken is when the rate allows the next start, if that is what the next
// look has to wait for.
func (e *engine) nextToken(at time.Time) time.Time {
	if e.rate == nil || !e.backlog.untouched(e.now()) && len(e.backlog.alone) == 0 {
		return at
	}
	missing := 1 - e.rate.TokensAt(e.now())
	if missing <= 0 {
		return at
	}
	next := e.now().Add(time.Duration(missing / float64(e.rate.Limit()) * float64(time.Second)))
	if at.IsZero() || next.Before(at) {
		return next
	}
	return at
}

// outlived looks again, once, whether survivors still are, before they are told
// as such: others may have taken a while. It tells whether one has ended.
func (e *engine) outlived(ctx context.Context) bool {
	if e.failure != nil || !e.busyLeft || e.lookedAgain || len(e.survivors) == 0 {
		return false
	}
	e.lookedAgain = true
	before := e.survivors
	if err := e.recover(ctx); err != nil {
		e.fail(err)
		return true
	}
	for id := range before {
		if _, alive := e.survivors[id]; !alive && e.backlog.busy.Contains(uint64(id)) {
			e.busyLeft, e.idleSince = false, time.Time{}
			e.backlog.moved(e.now())
			return true
		}
	}
	return false
}

// lookAtOthers recovers from runs that died while this one waits for them.
func (e *engine) lookAtOthers(ctx context.Context) error {
	if e.backlog.busy.IsEmpty() || e.now().Before(e.backlog.pollAt) {
		return nil
	}
	if err := e.recover(ctx); err != nil {
		e.fail(err)
	}
	return nil
}

// trouble tells by name the first few records that need attention: those
// that ended badly before this run, and those that others hold.
func (e *engine) trouble(ctx context.Context) error {
	if room := maxTroubled - len(e.sum.Troubled); room > 0 && len(e.failedBefore) > 0 {
		err := e.led.Store().View(ctx, func(r ledger.Reader) error {
			list, err := r.Get(e.failedBefore[:min(room, len(e.failedBefore))])
			e.sum.Troubled = append(e.sum.Troubled, list...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return e.holders(ctx)
}

// holders names the runs that hold records of the scope.
func (e *engine) holders(ctx context.Context) error {
	if e.backlog == nil || e.backlog.busy.IsEmpty() {
		return nil
	}
	ids := make([]int64, 0, 100)
	for it := e.backlog.busy.Iterator(); it.HasNext() && len(ids) < cap(ids); {
		ids = append(ids, int64(it.Next()))
	}
	return e.led.Store().View(ctx, func(r ledger.Reader) error {
		list, err := r.Get(ids)
		for _, en := range list {
			if en.Status == ledger.Running && !slices.Contains(e.sum.HeldBy, en.RunID) {
				e.sum.HeldBy = append(e.sum.HeldBy, en.RunID)
			}
			if s, ok := e.survivors[en.ID]; ok && len(e.sum.Survivors) < maxTroubled {
				e.sum.Survivors = append(e.sum.Survivors, s)
			}
		}
		return err
	})
}
