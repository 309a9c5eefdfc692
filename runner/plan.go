package runner

import (
	"context"
	"errors"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"runner/ledger"
)

// planChunk is how many records one transaction of a plan enters: a few
// milliseconds, so that other runs are not held up.
const planChunk = 5000

// errStopped ends a plan that was told to stop. Its batch stays marked as being
// planned, until the next plan takes its place.
var errStopped = errors.New("told to stop while planning")

// plan puts the whole input into the ledger and gives those of its records
// that are not settled. A rerun's records are there already.
func (e *engine) plan(ctx context.Context) (*roaring64.Bitmap, error) {
	todo := roaring64.New()
	if e.Source == nil {
		for _, id := range e.Records {
			todo.Add(uint64(id))
		}
		e.sum.Planned = int64(len(e.Records))
		e.sum.scope = todo.Clone() // todo gets smaller
		return todo, nil
	}
	scope := roaring64.New()
	e.sum.scope = scope
	how := ledger.PlanOptions{Fresh: e.FreshInput}
	var err error
	if how.Doubt, err = e.led.BlindFor(ctx, e.Date); err != nil {
		return nil, err
	}
	err = chunks(e.Source, e.Survey, func(in []ledger.Input) error {
		if e.Stop.Asked() {
			return errStopped
		}
		planned, err := e.led.Plan(ctx, e.row.BatchID, in, how)
		if err != nil {
			return err
		}
		how.New = true // as long as all is: a list is mostly new, or mostly known
		for _, p := range planned {
			how.New = how.New && p.New
			if !scope.CheckedAdd(uint64(p.ID)) {
				e.sum.Duplicates++
				how.New = false
				continue
			}
			e.note(p, todo)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	e.sum.Planned = int64(scope.GetCardinality())
	if err := e.led.EndPlan(ctx, e.row, true); err != nil {
		return nil, err
	}
	if e.IncludeAbsent {
		return todo, e.includeAbsent(ctx, scope, todo)
	}
	if e.Survey.shard.Count > 1 { // what is absent from a shard may be in another
		return todo, nil
	}
	return todo, e.led.Store().View(ctx, func(r ledger.Reader) error {
		b, err := r.Batch(e.Task.Name, e.Date)
		e.sum.Absent = b.Counts.Total() - e.sum.Planned
		return err
	})
}

// includeAbsent takes the records of the batch into the scope that the input
// doesn't hold.
func (e *engine) includeAbsent(ctx context.Context, scope, todo *roaring64.Bitmap) error {
	for en, err := range e.led.Each(ctx, ledger.Query{TaskName: e.Task.Name, ExecuteDate: e.Date, Limit: 1000}) {
		if err != nil {
			return err
		}
		if e.Survey.shard.Has(en.BizID) && scope.CheckedAdd(uint64(en.ID)) {
			e.sum.Absent++
			e.sum.Planned++
			e.note(ledger.Planned{ID: en.ID, Status: en.Status}, todo)
		}
	}
	return nil
}

func (e *engine) note(p ledger.Planned, todo *roaring64.Bitmap) {
	if p.New {
		e.sum.New++
	}
	if p.Changed {
		e.sum.Changed++
	}
	switch p.Status {
	case ledger.Done, ledger.Skipped, ledger.Failed:
		e.settled[p.Status]++
		if p.Status == ledger.Done {
			e.sum.AlreadyDone++
		}
		if p.Status == ledger.Failed {
			e.failedBefore = append(e.failedBefore, p.ID)
			e.failedBefore = e.failedBefore[:min(len(e.failedBefore), maxTroubled)]
		}
	default:
		todo.Add(uint64(p.ID))
	}
}

// chunks reads a source that has been read through, and fails if it isn't
// what it was then.
func chunks(src Source, s Survey, fn func([]ledger.Input) error) error {
	var sum uint64
	in := make([]ledger.Input, 0, planChunk)
	for item, err := range src.Records() {
		if err != nil {
			return err
		}
		if !s.shard.Has(item.BizID) {
			continue
		}
		sum = fold(sum, s.seed, item)
		if in = append(in, ledger.Input{BizID: item.BizID, Payload: item.Payload}); len(in) == planChunk {
			if err := fn(in); err != nil {
				return err
			}
			in = in[:0]
		}
	}
	if sum != s.sum {
		return errChanged(src)
	}
	if len(in) == 0 {
		return nil
	}
	return fn(in)
}
