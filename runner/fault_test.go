package runner

import (
	"context"
	"errors"
	"os"
	"testing"

	"runner/ledger"
)

// broken is a ledger's store whose writes fail from some time on.
type broken struct {
	ledger.Store
	fail func() error
}

func (b *broken) Update(ctx context.Context, fn func(ledger.Tx) error) error {
	if err := b.fail(); err != nil {
		return err
	}
	return b.Store.Update(ctx, fn)
}

func TestALedgerThatFailsInTheMiddleLosesNoOutcome(t *testing.T) { // cases 46 and 47
	for _, heals := range []bool{false, true} {
		b := newBench(t)
		ended := make(chan struct{}, 100)
		full := &ledger.UnusableError{Path: "ledger.db", Why: "the disk is full"}
		down := false
		store := &broken{b.st, func() error {
			if down {
				return full
			}
			return nil
		}}
		o := b.options(ids(8), quick(), nil)
		o.Ledger = ledger.New(store)
		o.Task.Jobs = 2
		o.Task.Action = action(func(_ context.Context, at Attempt) Result {
			b.seen.note(at.BizID)
			if at.BizID == "u000002" {
				<-ended // until the first has ended
			}
			if at.BizID == "u000001" {
				down = !down
				ended <- struct{}{}
			}
			return Result{Outcome: ledger.Succeeded, Result: at.BizID}
		})
		if heals {
			store.fail = func() error {
				if down {
					down = false
					return full
				}
				return nil
			}
		}
		s, err := b.try(o)
		var unusable *ledger.UnusableError
		if !errors.As(err, &unusable) || s.Result != LedgerError || len(s.Unwritten) != 0 {
			t.Fatalf("heals %v: %+v, %v", heals, s, err)
		}
		if n := len(b.seen.n); n != 2 {
			t.Errorf("heals %v: %d records were started", heals, n)
		}
		// The next start takes in what ended before anything else, and starts nothing twice.
		b.run(b.options(ids(8), quick(), succeed))
		for id, e := range b.statuses() {
			if e.Status != ledger.Done || e.Attempts != 1 || b.seen.n[id] != 1 {
				t.Errorf("heals %v: %s is %v after %d attempts, %d seen", heals, id, e.Status, e.Attempts, b.seen.n[id])
			}
		}
		if files, _ := os.ReadDir(b.st.RunsDir()); len(files) != 0 {
			t.Errorf("heals %v: run files are left: %v", heals, files)
		}
	}
}

func TestARunFileThatCantBeWrittenLosesNoOutcome(t *testing.T) {
	b := newBench(t)
	o := b.options(ids(8), quick(), nil)
	o.Task.Jobs = 1
	e, err := newEngine(o)
	must(t, err)
	e.Task.Action = action(func(context.Context, Attempt) Result {
		must(t, e.file.f.Close()) // from now on it can't be written
		return Result{Outcome: ledger.Succeeded}
	})
	e.Survey, err = ReadThrough(o.Source, Shard{}, false)
	must(t, err)
	err = e.finish(t.Context(), e.run(t.Context()))
	if err == nil || e.sum.Result != LedgerError || e.sum.Executed != 1 || e.sum.Counts[ledger.Done] != 1 || e.sum.Counts[ledger.Pending] != 7 {
		t.Errorf("%+v, %v", e.sum, err)
	}
}

func TestWhatCanBeWrittenNowhereIsSaidRecordByRecord(t *testing.T) {
	b := newBench(t)
	down := false
	store := &broken{b.st, func() error {
		if down {
			return &ledger.UnusableError{Path: "ledger.db", Why: "gone"}
		}
		return nil
	}}
	o := b.options(ids(8), quick(), nil)
	o.Ledger = ledger.New(store)
	o.Task.Jobs = 1
	e, err := newEngine(o)
	must(t, err)
	e.Task.Action = action(func(context.Context, Attempt) Result {
		must(t, e.file.f.Close())
		down = true
		return Result{Outcome: ledger.Succeeded}
	})
	e.Survey, err = ReadThrough(o.Source, Shard{}, false)
	must(t, err)
	err = e.finish(t.Context(), e.run(t.Context()))
	if err == nil || len(e.sum.Unwritten) != 1 || e.sum.Unwritten[0].BizID != "u000001" {
		t.Errorf("%+v, %v", e.sum, err)
	}
}
