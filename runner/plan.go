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
	if err := e.led.EndPlan(ctx, e.row); err != nil {
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
	for after := int64(0); ; {
		var page []ledger.Entry
		err := e.led.Store().View(ctx, func(r ledger.Reader) (err error) {
			page, err = r.List(ledger.Query{TaskName: e.Task.Name, ExecuteDate: e.Date, After: after, Ascending: true, Limit: 1000})
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1].ID
		for _, en := range page {
			if e.Survey.shard.has(en.BizID) && scope.CheckedAdd(uint64(en.ID)) {
				e.sum.Absent++
				e.sum.Planned++
				e.note(ledger.Planned{ID: en.ID, Status: en.Status}, todo)
			}
		}
	}
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
		if !s.shard.has(item.BizID) {
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

// PreviewFunc is told what a run would do with a record now. It returns
// false for a record that doesn't count.
type PreviewFunc func(biz string, j ledger.Judged, isNew bool) bool

// Preview says what Run would do, and changes nothing: no file is written,
// no lock taken, nothing started. each is called with every record of the
// input, in its order, and what would be done with it now.
func Preview(ctx context.Context, o Options, each PreviewFunc) (Summary, error) {
	e, err := newEngine(o)
	if err != nil {
		return e.sum, err
	}
	e.sum.Result = DryRun
	e.sum.RunID = ""
	e.sum.Duplicates = o.Survey.Duplicates
	if e.sum.Duplicates > 0 {
		each = once(each)
	}
	if o.Ledger != nil {
		if e.blind, err = e.led.BlindFor(ctx, o.Date); err != nil {
			return e.sum, err
		}
	}
	if o.Ledger == nil {
		err = e.previewNew(each)
	} else {
		err = e.preview(ctx, each)
	}
	e.sum.EndedAt = e.now()
	return e.sum, err
}

// previewNew is the preview without a ledger: everything is new.
func (e *engine) previewNew(each PreviewFunc) error {
	return chunks(e.Source, e.Survey, func(in []ledger.Input) error {
		for _, i := range in {
			e.previewOne(i, ledger.Entry{}, ledger.Entry{}, true, each)
		}
		return nil
	})
}

func (e *engine) preview(ctx context.Context, each PreviewFunc) error {
	if e.Source == nil {
		return e.previewRecords(ctx, each)
	}
	var b ledger.Batch
	err := e.led.Store().View(ctx, func(r ledger.Reader) (err error) {
		b, err = r.Batch(e.Task.Name, e.Date)
		return err
	})
	if errors.Is(err, ledger.ErrNotFound) {
		return e.previewNew(each)
	}
	if err != nil {
		return err
	}
	err = chunks(e.Source, e.Survey, func(in []ledger.Input) error {
		planned, err := e.led.Preview(ctx, b.ID, in)
		if err != nil {
			return err
		}
		entries, err := e.entries(ctx, planned)
		if err != nil {
			return err
		}
		for i, p := range planned {
			if p.Changed {
				e.sum.Changed++
			}
			e.previewOne(in[i], entries[p.ID], entries[p.ID], p.New, each)
		}
		return nil
	})
	e.sum.Absent = b.Counts.Total() - (e.sum.Planned - e.sum.New)
	return err
}

func (e *engine) previewRecords(ctx context.Context, each PreviewFunc) error {
	var entries []ledger.Entry
	err := e.led.Store().View(ctx, func(r ledger.Reader) (err error) {
		entries, err = r.Get(e.Records)
		return err
	})
	for _, en := range entries {
		after, rerr := ledger.Rerun(en, ledger.Decision{Insist: true, Generation: en.Generation}, e.Task.Policy)
		if rerr != nil { // it is running
			after = en
		}
		e.previewOne(ledger.Input{BizID: en.BizID}, en, after, false, each)
	}
	return err
}

// entries gives what the ledger knows of records that are not settled well.
func (e *engine) entries(ctx context.Context, planned []ledger.Planned) (map[int64]ledger.Entry, error) {
	m := map[int64]ledger.Entry{}
	var ids []int64
	for _, p := range planned {
		if p.ID != 0 {
			m[p.ID] = ledger.Entry{ID: p.ID, Status: p.Status}
			if p.Status.Open() || p.Status == ledger.InDoubt {
				ids = append(ids, p.ID)
			}
		}
	}
	if len(ids) == 0 {
		return m, nil
	}
	return m, e.led.Store().View(ctx, func(r ledger.Reader) error {
		list, err := r.Get(ids)
		for _, en := range list {
			m[en.ID] = en
		}
		return err
	})
}

// once leaves out repeats of a record.
func once(each PreviewFunc) PreviewFunc {
	seen := map[string]bool{}
	return func(biz string, j ledger.Judged, isNew bool) bool {
		if seen[biz] {
			return false
		}
		seen[biz] = true
		return each == nil || each(biz, j, isNew)
	}
}

// previewOne judges a record as it would be at its start, and tells as what it
// is now.
func (e *engine) previewOne(in ledger.Input, en, then ledger.Entry, isNew bool, each PreviewFunc) {
	if isNew && e.blind != "" {
		en = ledger.Doubt(en, e.blind, e.now())
		then = en
	}
	v := ledger.Judge(then, e.Task.Policy, e.now(), false)
	if each != nil && !each(in.BizID, ledger.Judged{Entry: en, Verdict: v}, isNew) {
		return
	}
	e.sum.Planned++
	e.sum.Counts[en.Status]++
	if isNew {
		e.sum.New++
	}
	if en.Status == ledger.Done {
		e.sum.AlreadyDone++
	}
}
