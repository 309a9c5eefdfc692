package cmd

import (
	"context"
	"slices"

	"runner/ledger"
	"runner/runner"
)

// remainder is what a batch holds besides the scope of a run.
type remainder struct {
	complete bool          // the batch is, this and the scope
	left     ledger.Counts // what keeps it from being complete and is nobody's work; only of a whole input
}

// lookOutside looks, after a run that has settled its scope, at the rest of
// its batch. A source that is a query of what is still to be done doesn't hold
// a record any more whose effect was committed when its runner was killed. Where
// the input was whole, no other run will see to it: its check is asked.
func (r *batchRun) lookOutside(ctx context.Context, j job, s runner.Summary) (o remainder, err error) {
	if !slices.Contains([]runner.ResultWord{runner.Complete, runner.SomeFailed, runner.SomeInDoubt}, s.Result) {
		return o, nil
	}
	b, err := batchOf(ctx, r.led, j.task.Name, j.date)
	if err != nil {
		return o, err
	}
	if r.o.whole && b.Counts[ledger.InDoubt] > s.Counts[ledger.InDoubt] && j.task.Check != nil && !r.stop.Asked() {
		if err := r.askOutside(ctx, j, s); err != nil {
			return o, err
		}
		if b, err = batchOf(ctx, r.led, j.task.Name, j.date); err != nil {
			return o, err
		}
	}
	o.complete = b.Complete()
	if !r.o.whole {
		return o, nil
	}
	for _, st := range []ledger.Status{ledger.InDoubt, ledger.Failed, ledger.Pending} {
		o.left[st] = max(b.Counts[st]-s.Counts[st], 0)
	}
	if b.Counts[ledger.Running] > 0 || b.OpenPlanRun != "" {
		o.left[ledger.Pending] = 0 // a run is at work on them
	}
	return o, nil
}

// askOutside asks the check about what is in doubt outside the scope of a run,
// as runner recover does.
func (r *batchRun) askOutside(ctx context.Context, j job, s runner.Summary) error {
	a := asker{r.app, r.where, r.led, r.runsDir, r.stop, r.caught}
	n, asked, err := a.ask(ctx, j.task, j.date, func(e ledger.Entry) bool { return !s.Holds(e.ID) })
	if n > 0 && err == nil {
		r.p.note("%s %s: asked the check of %s in doubt that the input doesn't hold: %s",
			j.task.Name, j.date, plural(n, "record"), countWords(newCounts(asked.Counts)))
	}
	return err
}

// sayOutside says what keeps the date from being complete though the run is
// over, and what to do about it.
func (r *batchRun) sayOutside(j job, o remainder) {
	name, where := shellWord(j.task.Name), shellWord(j.task.Name)+" --date "+j.date+r.sameFlags()
	again := "runner run " + where + " --include-absent"
	doubt := "runner ledger ls --task " + where + " --status in_doubt lists them; " + findOutHint(where)
	switch {
	case j.task.Check != nil:
		doubt = "runner recover " + name + r.sameFlags() + " asks their check again; " + doubt
	case j.task.Policy.Idempotent:
		doubt = again + " repeats them; " + doubt
	}
	for _, x := range []struct {
		status     ledger.Status
		what, hint string
	}{
		{ledger.InDoubt, " that may or may not have taken effect", doubt},
		{ledger.Failed, " that failed", "runner rerun " + where + " tries them again"},
		{ledger.Pending, " left to do", again + " does them; runner ledger mark " + where + " --as skipped --reason TEXT BIZ_ID if they are not wanted"},
	} {
		if n := o.left[x.status]; n > 0 {
			r.p.warn(j.task.Name+" "+j.date+" is not complete: the input doesn't hold "+plural(n, "record")+x.what, x.hint)
		}
	}
}
