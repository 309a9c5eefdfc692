package runner

import (
	"context"

	"runner/ledger"
)

// finish counts the scope, notes the end of the run and lets go of its file.
func (e *engine) finish(ctx context.Context, err error) error {
	if e.file == nil { // it never began
		e.sum.Result, e.sum.Error = errorWord(err), err.Error()
		return err
	}
	err = e.describe(ctx, err)
	if len(e.unsettled) > 0 {
		e.leave()
		return err
	}
	if eerr := e.led.End(ctx, &e.row); eerr != nil {
		_ = e.file.sync()
		e.file.keep()
		if err == nil {
			err = eerr
			e.sum.Result, e.sum.Error = LedgerError, err.Error()
		}
		return err
	}
	_ = e.file.remove() // the ledger knows that the run has ended: the next start sweeps what is left
	return err
}

// describe completes the summary, and the run's row with it.
func (e *engine) describe(ctx context.Context, err error) error {
	if cerr := e.count(ctx); err == nil {
		err = cerr
	}
	if err == nil && e.busyLeft && e.closed != nil {
		err = &ledger.UnusableError{
			Path: e.RunsDir, Why: "the run file of run " + e.closed.ID + " can't be opened, so whether that run is alive is not known", Err: e.closed.Err,
			Hint: e.closed.Hint(),
		}
	}
	if terr := e.trouble(ctx); err == nil {
		err = terr
	}
	e.sum.Result = e.result(err)
	if err != nil {
		e.sum.Error = err.Error()
	}
	if e.begun != nil {
		e.sum.Begun = int64(e.begun.GetCardinality())
	}
	e.row.EndedAt, e.row.Result, e.row.Counts = e.sum.EndedAt, string(e.sum.Result), e.sum.Counts
	e.row.Planned, e.row.New, e.row.Executed = e.sum.Planned, e.sum.New, e.sum.Executed
	if e.ExitCode != nil {
		e.row.ExitCode = e.ExitCode(e.sum)
	}
	return err
}

// leave leaves claims and outcomes to the next start, which takes them from
// the journal. What isn't even there is told.
func (e *engine) leave() {
	if err := e.file.sync(); err != nil || !exists(e.file.path) {
		e.unwritten = e.kept
	}
	for _, r := range e.unwritten {
		if en, ok := e.unsettled[r.RecordID]; ok && r.Outcome != ledger.NotStarted {
			e.sum.Unwritten = append(e.sum.Unwritten, Unwritten{en.Key, r})
		}
	}
	e.file.keep()
}

// count adds what is left of the scope to what this run saw settled.
func (e *engine) count(ctx context.Context) error {
	e.sum.Counts = e.settled
	if e.backlog == nil {
		return nil
	}
	now := e.led.Now()
	e.sum.PausedUntil = e.paused
	if len(e.backlog.due) > 0 && e.backlog.due[0].at.After(now) {
		e.sum.NextDue = e.backlog.due[0].at
	}
	ids := make([]int64, 0, 4096)
	it := e.backlog.left.Iterator()
	for it.HasNext() {
		ids = append(ids, int64(it.Next()))
		if len(ids) < cap(ids) && it.HasNext() {
			continue
		}
		err := e.led.Store().View(ctx, func(r ledger.Reader) error {
			c, err := r.Count(ids)
			e.sum.Counts.Add(c)
			return err
		})
		if err != nil {
			return err
		}
		ids = ids[:0]
	}
	return nil
}

// result names what became of the run: the first that applies, in the order
// of the exit codes.
func (e *engine) result(err error) ResultWord {
	open := e.sum.Counts[ledger.Pending] + e.sum.Counts[ledger.Running]
	switch {
	case err != nil:
		return errorWord(err)
	case e.Stop.Asked() && (open > 0 || e.cutShort || e.Stop.ending()):
		return Interrupted
	case e.sum.HaltReason != "":
		return Halted
	case e.busyLeft:
		return IsBusy
	case e.waitingLeft:
		return IsWaiting
	case e.sum.Counts[ledger.InDoubt] > 0:
		return SomeInDoubt
	case e.sum.Counts[ledger.Failed] > 0:
		return SomeFailed
	case open > 0:
		return Partial
	}
	return Complete
}
