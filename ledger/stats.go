package ledger

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Open is how many records of a batch there is still something to wait for or
// to do.
func (b Batch) Open() int64 { return b.Counts[Pending] + b.Counts[Running] }

// Complete tells whether everything of a batch is done or skipped, and its
// plan is whole.
func (b Batch) Complete() bool {
	return b.OpenPlanRun == "" && b.Open() == 0 && b.Counts[Failed] == 0 && b.Counts[InDoubt] == 0
}

// Grouping is what counts are added up by. The zero value adds up all.
type Grouping struct{ Task, Date, Status bool }

// Tally is a number of records with what they have in common. What they are
// not grouped by is nil.
type Tally struct {
	TaskName    *string
	ExecuteDate *string
	Status      *Status
	Batches     int64 // that hold such records, and without Status also those that hold none
	Counts      Counts
}

// Group adds up the counters of batches: newest dates first, then by task and
// status. Statuses that no record has are left out.
func Group(batches []Batch, by Grouping) []Tally {
	type key struct {
		date, task string
		status     Status
	}
	sums := map[key]*Tally{}
	add := func(k key, t Tally, c Counts) {
		s := sums[k]
		if s == nil {
			s = &t
			sums[k] = s
		}
		s.Batches++
		s.Counts.Add(c)
	}
	for _, b := range batches {
		var k key
		var t Tally
		if by.Task {
			k.task, t.TaskName = b.TaskName, &b.TaskName
		}
		if by.Date {
			k.date, t.ExecuteDate = b.ExecuteDate, &b.ExecuteDate
		}
		if !by.Status {
			add(k, t, b.Counts)
			continue
		}
		for _, s := range Statuses {
			if n := b.Counts[s]; n > 0 {
				var only Counts
				only[s] = n
				k.status, t.Status = s, &s
				add(k, t, only)
			}
		}
	}
	keys := make([]key, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(b.date, a.date), cmp.Compare(a.task, b.task),
			cmp.Compare(slices.Index(Statuses, a.status), slices.Index(Statuses, b.status)))
	})
	tallies := make([]Tally, len(keys))
	for i, k := range keys {
		tallies[i] = *sums[k]
	}
	return tallies
}

// Batches lists the batches of a task, or with an empty one of all, from one
// date to another, both included or empty: newest dates first, then by task.
func (l *Ledger) Batches(ctx context.Context, task, from, to string) (list []Batch, err error) {
	one := ""
	if from == to {
		one = from
	}
	err = l.store.View(ctx, func(r Reader) error {
		all, err := r.Batches(task, one)
		list = slices.DeleteFunc(all, func(b Batch) bool {
			return from != "" && b.ExecuteDate < from || to != "" && b.ExecuteDate > to
		})
		return err
	})
	slices.SortFunc(list, func(a, b Batch) int {
		return cmp.Or(cmp.Compare(b.ExecuteDate, a.ExecuteDate), cmp.Compare(a.TaskName, b.TaskName))
	})
	return list, err
}

// NextDue is when the first of the waiting records of a batch is due; zero if
// none of them waits.
func (l *Ledger) NextDue(ctx context.Context, b Batch) (at time.Time, err error) {
	if b.Counts[Pending]+b.Counts[InDoubt] == 0 {
		return at, nil
	}
	err = l.store.View(ctx, func(r Reader) error {
		found, err := r.List(Query{
			TaskName: b.TaskName, ExecuteDate: b.ExecuteDate, Statuses: []Status{Pending, InDoubt}, Waiting: true, Limit: 1,
		})
		if len(found) > 0 {
			at = found[0].NotBefore
		}
		return err
	})
	return at, err
}

// ClaimsOf counts the records that a run has claimed and not settled.
func (l *Ledger) ClaimsOf(ctx context.Context, run Run) (n int64, err error) {
	for _, err := range l.Claims(ctx, run) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
