package sqlaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"runner/ledger"
	"runner/runner"
)

// executor works off what waits, with a connection of its own.
type executor struct {
	*Action
	s session // nil: none
}

func (a *Action) startExecutors() {
	for range a.db.executors(max(a.Jobs, 1)) {
		a.working.Go(func() {
			x := &executor{Action: a}
			defer x.drop()
			for {
				select {
				case j := <-a.waiting:
					x.work(a.gather(j))
				case <-a.quit:
					return
				}
			}
		})
	}
}

// How long a transaction waits for more records: until none has come for
// lull, and not for longer than linger.
const (
	lull   = 500 * time.Microsecond
	linger = 5 * time.Millisecond
)

// gather takes what waits besides j, up to a batch. It doesn't wait for a
// batch to fill: only for what is on its way.
func (a *Action) gather(j *job) []*job {
	group := []*job{j}
	if a.Batch < 2 {
		return group
	}
	end := time.Now().Add(linger)
	t := time.NewTimer(lull)
	defer t.Stop()
	for len(group) < a.Batch {
		select {
		case more := <-a.waiting:
			group = append(group, more)
			continue
		default:
		}
		t.Reset(lull)
		select {
		case more := <-a.waiting:
			group = append(group, more)
		case <-t.C:
			return group
		}
		if time.Now().After(end) {
			break
		}
	}
	return group
}

func (x *executor) drop() {
	if x.s != nil {
		_ = x.s.close() // nothing is open on it, or it is to be taken back
		x.s = nil
	}
}

// session gives a connection that works as far as is known.
func (x *executor) session(ctx context.Context) error {
	if x.s != nil {
		return nil
	}
	s, err := connect(ctx, x.db)
	if err != nil {
		return err
	}
	if err := x.makeGuards(ctx, s); err != nil {
		_ = s.close() // the other error is told
		switch x.db.class(err) {
		case lost:
			return &ConnectError{x.db.name(), err}
		case conflict:
			return fmt.Errorf("guard: %w", err)
		}
		return &GuardError{err}
	}
	x.s = s
	return nil
}

// work does a group of records, in key order: so guards are never waited for
// in a circle.
func (x *executor) work(group []*job) {
	slices.SortFunc(group, func(a, b *job) int { return a.key.compare(b.key) })
	rest := group
	if len(group) > 1 {
		rest = x.together(group)
	}
	for _, j := range group {
		if j.final {
			j.done <- *j.result
		}
	}
	for _, j := range rest {
		x.alone(j)
		j.done <- *j.result
	}
}

// set decides what became of a record.
func (j *job) set(r runner.Result) { j.result, j.final = &r, true }

// stillOpen gives the records of a group whose result isn't final, without what
// was only expected of them.
func stillOpen(group []*job) []*job {
	var left []*job
	for _, j := range group {
		if !j.final {
			j.result = nil
			left = append(left, j)
		}
	}
	return left
}

// groupContext ends with that of the first record whose attempt must end.
func groupContext(group []*job) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stops := make([]func() bool, len(group))
	for i, j := range group {
		stops[i] = context.AfterFunc(j.ctx, cancel)
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// together does a group in one transaction, and gives what must be done
// record by record instead.
func (x *executor) together(group []*job) []*job {
	ctx, release := groupContext(group)
	defer release()
	careful := x.needsCare()
	for try := 1; try <= tries; try++ {
		if err := x.session(ctx); err != nil {
			return group // each says it for itself
		}
		err := x.transaction(ctx, group, careful)
		class := x.class(err)
		switch {
		case err == nil:
			return nil
		case uncertain(err):
			x.drop()
			return x.settle(group, err)
		case ctx.Err() != nil:
			x.drop()
			return stillOpen(group)
		case !careful && (class == failed || class == unique):
			careful = true
		case class == failed || class == unique:
			x.drop()
			return stillOpen(group)
		}
		if class == lost {
			x.drop()
		}
		group = stillOpen(group)
		if pause(ctx, time.Duration(try)*5*time.Millisecond) != nil {
			break
		}
	}
	return stillOpen(group)
}

// alone does one record in a transaction of its own.
func (x *executor) alone(j *job) {
	for try := 1; j.result == nil; try++ {
		if j.ctx.Err() != nil {
			j.set(j.stopped())
			return
		}
		if err := x.session(j.ctx); err != nil {
			j.set(x.cantStart(j, err))
			return
		}
		err := x.transaction(j.ctx, []*job{j}, true)
		if err == nil {
			return
		}
		x.failedAlone(j, err, try)
	}
}

// failedAlone decides what an error means for a record; it leaves it open
// where it is worth another try.
func (x *executor) failedAlone(j *job, err error, try int) {
	if uncertain(err) {
		x.drop()
		for _, left := range x.settle([]*job{j}, err) {
			left.set(runner.Result{Outcome: ledger.FailedAttempt, Error: err.Error() + "; nothing was committed"})
		}
		return
	}
	j.result = nil
	class := x.db.class(err)
	if class == lost || j.ctx.Err() != nil {
		x.drop()
	}
	switch {
	case j.ctx.Err() != nil:
		j.set(j.stopped())
	case class == conflict && try >= x.db.tries():
		j.set(runner.Result{Outcome: ledger.AskedLater, Error: err.Error(), RetryAfter: aWhile})
	case class == conflict || class == lost && try < tries:
		_ = pause(j.ctx, time.Duration(try)*10*time.Millisecond) // its end is seen by the next try
	default:
		j.set(runner.Result{Outcome: ledger.FailedAttempt, Error: err.Error()})
	}
}

// class is that of the database, which doesn't know our own errors.
func (x *executor) class(err error) errClass {
	if errors.Is(err, errNeedsCare) {
		return failed
	}
	return x.db.class(err)
}

func (x *executor) cantStart(j *job, err error) runner.Result {
	if j.ctx.Err() != nil {
		return j.stopped()
	}
	var c *ConnectError
	reached := !errors.As(err, &c)
	if reached && x.db.class(err) == conflict {
		return runner.Result{Outcome: ledger.AskedLater, Error: err.Error(), RetryAfter: aWhile}
	}
	return runner.Result{Outcome: ledger.NotStarted, Error: err.Error(), Halt: reached}
}
