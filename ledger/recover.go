package ledger

import (
	"context"
	"iter"
)

// recoverChunk is how many records one transaction of a recovery settles.
const recoverChunk = 500

// Claims gives the records that a run has claimed and not settled.
func (l *Ledger) Claims(ctx context.Context, run Run) iter.Seq2[Entry, error] {
	return l.Each(ctx, Query{
		RunID: run.ID, TaskName: run.TaskName, ExecuteDate: run.ExecuteDate, Statuses: []Status{Running}, Limit: recoverChunk,
	})
}

// Replay settles what a dead run left, by the policy it had.
func (l *Ledger) Replay(ctx context.Context, reports []Report, p Policy) ([]Settled, error) {
	var all []Settled
	for len(reports) > 0 {
		n := min(len(reports), recoverChunk)
		var chunk []Settled
		err := l.store.Update(ctx, func(tx Tx) (err error) {
			chunk, err = l.settle(tx, reports[:n], p, l.Now())
			return err
		})
		if err != nil {
			return all, err
		}
		all = append(all, chunk...)
		reports = reports[n:]
	}
	return all, nil
}

// Bury notes that a dead run is over.
func (l *Ledger) Bury(ctx context.Context, run Run) error {
	var now []Run
	err := l.store.View(ctx, func(r Reader) (err error) {
		now, err = r.Runs(RunQuery{ID: run.ID})
		return err
	})
	if err != nil || len(now) == 0 || !now[0].EndedAt.IsZero() {
		return err
	}
	now[0].EndedAt, now[0].Result = l.Now(), "died"
	return l.End(ctx, &now[0])
}

// OpenRuns lists the runs that have not ended, as far as the ledger knows.
func (l *Ledger) OpenRuns(ctx context.Context) (runs []Run, err error) {
	err = l.store.View(ctx, func(r Reader) error {
		runs, err = r.Runs(RunQuery{OpenOnly: true})
		return err
	})
	return runs, err
}

// Story gives a record with all that ever happened to it. It fails with
// ErrNotFound.
func (l *Ledger) Story(ctx context.Context, k Key) (e Entry, story []Attempt, err error) {
	err = l.store.View(ctx, func(r Reader) error {
		found, err := r.List(Query{TaskName: k.TaskName, ExecuteDate: k.ExecuteDate, BizIDs: []string{k.BizID}, Limit: 1})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return ErrNotFound
		}
		e = found[0]
		stored, err := r.Attempts(e.ID)
		story = Told(e, stored)
		return err
	})
	return e, story, err
}

// Definition gives what the newest run of a task on a date was defined by;
// with an empty date, of any date. It fails with ErrNotFound.
func (l *Ledger) Definition(ctx context.Context, task, date string) (run Run, err error) {
	err = l.store.View(ctx, func(r Reader) error {
		runs, err := r.Runs(RunQuery{TaskName: task, ExecuteDate: date, Limit: 1})
		if err == nil && len(runs) == 0 {
			err = ErrNotFound
		}
		if err == nil {
			run = runs[0]
		}
		return err
	})
	return run, err
}
