package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"runner/ledger"

	"pgregory.net/rapid"
)

// counters does random things to two batches, and recounts after each.
func counters(f *fixture) {
	rounds := 0
	rapid.Check(f.T, func(t *rapid.T) {
		rounds++
		batches := []ledger.Batch{f.batch(fmt.Sprint("task-", rounds), date), f.batch(fmt.Sprint("task-", rounds), "2026-11-12")}
		for range rapid.IntRange(1, 4).Draw(t, "transactions") {
			fails := rapid.IntRange(0, 3).Draw(t, "fails") == 0
			err := f.s.Update(context.Background(), func(tx ledger.Tx) error {
				for range rapid.IntRange(1, 3).Draw(t, "operations") {
					if err := operate(t, tx, rapid.SampledFrom(batches).Draw(t, "batch")); err != nil {
						return err
					}
				}
				if fails {
					return errRandom
				}
				return nil
			})
			if err != nil && !errors.Is(err, errRandom) {
				t.Fatal(err)
			}
			for _, b := range batches {
				recount(t, f.s, b)
			}
		}
	})
}

var errRandom = errors.New("a failure on purpose")

func operate(t *rapid.T, tx ledger.Tx, b ledger.Batch) error {
	ids := rapid.SliceOfN(rapid.StringMatching(`[a-f]`), 0, 8).Draw(t, "ids")
	if rapid.Bool().Draw(t, "insert") {
		_, err := tx.Insert(b.ID, inputs(ids...))
		return err
	}
	slices.Sort(ids)
	known, err := tx.Find(b.ID, inputs(slices.Compact(ids)...))
	if err != nil {
		return err
	}
	var changes []ledger.Change
	for _, k := range known {
		list, err := tx.Get([]int64{k.ID})
		if err != nil {
			return err
		}
		for _, e := range list {
			n := e
			n.Status = rapid.SampledFrom(ledger.Statuses).Draw(t, "status")
			n.Fence += rapid.Int64Range(0, 1).Draw(t, "fence")
			changes = append(changes, ledger.Change{Old: e, New: n})
		}
	}
	return tx.Swap(changes)
}

func recount(t *rapid.T, s ledger.Store, b ledger.Batch) {
	var want ledger.Batch
	var got ledger.Batch
	err := s.View(context.Background(), func(r ledger.Reader) (err error) {
		if got, err = r.Batch(b.TaskName, b.ExecuteDate); err != nil {
			return err
		}
		list, err := r.List(ledger.Query{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate, Ascending: true})
		want = got
		want.Counts, want.FirstID, want.LastID = ledger.Counts{}, 0, 0
		for i, e := range list {
			want.Counts[e.Status]++
			want.LastID = e.ID
			if i == 0 {
				want.FirstID = e.ID
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("the batch says\n%+v\na recount says\n%+v", got, want)
	}
}
