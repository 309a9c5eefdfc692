package cmd

import (
	"context"
	"slices"
	"time"

	"runner/ledger"
)

// What a page looks at and holds at most, so that it takes no longer, and
// grows no larger, on a ledger of any size. What is left out is said.
const (
	maxLooked  = 1_000_000 // records whose length is compared
	maxGrouped = 10_000    // failed records whose errors are grouped
	maxDoubts  = 100       // records in doubt that are listed
	maxSlowest = 10        // of each task
	maxGroups  = 10        // of errors, of each task
	maxWatched = 20_000    // runs that are added up
	factsPage  = 200       // records read at once: each may have a large payload
)

// taskFacts are what a page tells of a task besides its calendar.
type taskFacts struct {
	slowest  []ledger.Entry
	looked   int64 // records among which they are the slowest
	failures errorGroups
	doubts   []ledger.Entry
}

// factFinder reads the facts of tasks, one after the other.
type factFinder struct {
	led            *ledger.Ledger
	looks          int64 // left to look at
	groups, doubts int
}

func newFactFinder(led *ledger.Ledger) *factFinder {
	return &factFinder{led: led, looks: maxLooked, groups: maxGrouped, doubts: maxDoubts}
}

// of reads the facts of a task, of which and after which so many tasks are to
// come: each has its share of what may be looked at.
func (f *factFinder) of(ctx context.Context, t reportTask, tasks int) (facts taskFacts, err error) {
	var batches []ledger.Batch // the newest first
	for _, d := range slices.Backward(t.days) {
		if d.batch.ID != 0 && d.mark != markSealed { // what is archived isn't there
			batches = append(batches, d.batch)
		}
	}
	facts.slowest, facts.looked, err = f.led.Longest(ctx, batches, maxSlowest, f.looks/int64(tasks))
	if err != nil {
		return facts, err
	}
	f.looks -= facts.looked
	for _, b := range batches {
		if n := b.Counts[ledger.Failed]; n > 0 {
			facts.failures.total += n
			err = f.each(ctx, b, ledger.Failed, share(f.groups, tasks)-int(facts.failures.seen), facts.failures.add)
			if err != nil {
				return facts, err
			}
		}
		if b.Counts[ledger.InDoubt] > 0 {
			err = f.each(ctx, b, ledger.InDoubt, share(f.doubts, tasks)-len(facts.doubts), func(e ledger.Entry) { facts.doubts = append(facts.doubts, e) })
			if err != nil {
				return facts, err
			}
		}
	}
	f.groups -= int(facts.failures.seen)
	f.doubts -= len(facts.doubts)
	return facts, nil
}

// share is what one of n may take of what is left; not nothing while there is
// any.
func share(left, n int) int { return (left + n - 1) / n }

// each calls fn with at most n records of a batch in a status, the newest
// first.
func (f *factFinder) each(ctx context.Context, b ledger.Batch, s ledger.Status, n int, fn func(ledger.Entry)) error {
	q := ledger.Query{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate, Statuses: []ledger.Status{s}}
	for n > 0 {
		q.Limit = min(n, factsPage)
		var page []ledger.Entry
		err := f.led.Store().View(ctx, func(r ledger.Reader) (err error) {
			page, err = r.List(q)
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range page {
			fn(e)
			q.Before = e.ID
		}
		if n -= len(page); len(page) < q.Limit {
			return nil
		}
	}
	return nil
}

// dayWork is how long runs worked on a day of a task.
type dayWork struct {
	spans    []workSpan // disjoint, the newest first
	runs     int
	executed int64
}

type workSpan struct{ from, to time.Time }

// took is the time in which at least one run was at work.
func (w *dayWork) took() (d time.Duration) {
	for _, s := range w.spans {
		d += s.to.Sub(s.from)
	}
	return d
}

// add takes in a run. Runs that overlap count once.
func (w *dayWork) add(r ledger.Run) {
	w.runs++
	w.executed += r.Executed
	n := workSpan{r.StartedAt, later(r.StartedAt, r.EndedAt)}
	w.spans = slices.DeleteFunc(w.spans, func(s workSpan) bool {
		if s.from.After(n.to) || n.from.After(s.to) {
			return false
		}
		if s.from.Before(n.from) {
			n.from = s.from
		}
		n.to = later(n.to, s.to)
		return true
	})
	w.spans = append(w.spans, n)
}

// batchWork adds up, by batch, the runs of some days that have ended. It goes
// back through the runs until they began two days before the first of these
// days, as a run of a later date hardly does; whole tells whether it came
// there.
func batchWork(ctx context.Context, led *ledger.Ledger, from, to day) (work map[int64]*dayWork, whole bool, err error) {
	work = map[int64]*dayWork{}
	q := ledger.RunQuery{Limit: runsPage}
	for seen := 0; seen < maxWatched; seen += runsPage {
		var page []ledger.Run
		err = led.Store().View(ctx, func(r ledger.Reader) (err error) {
			page, err = r.Runs(q)
			return err
		})
		if err != nil {
			return nil, false, err
		}
		for _, r := range page {
			q.Before = r.No
			if r.StartedAt.Before(from.add(-2).t) {
				return work, true, nil
			}
			if r.EndedAt.IsZero() || r.ExecuteDate < from.String() || r.ExecuteDate > to.String() {
				continue
			}
			w := work[r.BatchID]
			if w == nil {
				w = &dayWork{}
				work[r.BatchID] = w
			}
			w.add(r)
		}
		if len(page) < runsPage {
			return work, true, nil
		}
	}
	return work, false, nil
}
