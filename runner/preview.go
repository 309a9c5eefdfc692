package runner

import (
	"context"
	"errors"

	"runner/ledger"
)

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
