package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"runner/ledger"
)

func TestAClaimSkipsWhatAnotherTransactionHolds(t *testing.T) {
	s, at := fresh(t)
	other := openAt(t, at, Options{})
	_, e := planned(t, s, "a", "b", "c")
	update(t, s, func(tx ledger.Tx) error {
		if err := claim(tx, e[1], "run-1"); err != nil {
			return err
		}
		return other.Update(ctx, func(tx ledger.Tx) error { // doesn't wait
			_, free, busy, err := tx.Lock(ledger.Run{ID: "run-2", TaskName: e[0].TaskName, ExecuteDate: e[0].ExecuteDate}, []int64{e[2].ID, e[1].ID, e[0].ID, e[2].ID + 1000})
			if len(free) != 2 || free[0].BizID != "c" || free[1].BizID != "a" {
				t.Errorf("free: %+v", free)
			}
			if !slices.Equal(busy, []int64{e[1].ID}) {
				t.Errorf("busy: %v, want %d", busy, e[1].ID)
			}
			return err
		})
	})
}

func TestTransactionsThatWaitForEachOtherAreRunAgain(t *testing.T) {
	s, at := fresh(t)
	stores := []*Store{s, openAt(t, at, Options{})}
	_, e := planned(t, s, "a", "b")
	var wg, both sync.WaitGroup
	both.Add(2)
	var calls [2]int
	for i := range stores {
		first, second := e[i], e[1-i]
		wg.Go(func() {
			err := stores[i].Update(ctx, func(tx ledger.Tx) error {
				calls[i]++
				if err := touch(tx, first); err != nil {
					return err
				}
				if calls[i] == 1 {
					both.Done()
					both.Wait()
				}
				return touch(tx, second)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := calls[0] + calls[1]; n < 3 {
		t.Errorf("the functions ran %d times together, want 3 or more: one of them lost", n)
	}
	for _, e := range entries(t, s) {
		if e.Fence != 2 {
			t.Errorf("%s was changed %d times, want 2", e.BizID, e.Fence)
		}
	}
}

// touch raises the fence of a record, whatever it is.
func touch(tx ledger.Tx, e ledger.Entry) error {
	list, err := tx.Get([]int64{e.ID})
	if err != nil {
		return err
	}
	n := list[0]
	n.Fence++
	return tx.Swap([]ledger.Change{{Old: list[0], New: n}})
}

func TestRunsThatBeginAtOnceKnowOfEachOther(t *testing.T) {
	_, at := fresh(t)
	const n = 8
	var wg sync.WaitGroup
	for i := range n {
		led := ledger.New(openAt(t, at, Options{}))
		wg.Go(func() {
			run := ledger.Run{ID: fmt.Sprint("run-", i), TaskName: task, ExecuteDate: date, StartedAt: led.Now()}
			if err := led.Begin(ctx, &run, true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := openAt(t, at, Options{ReadOnly: true})
	must(t, s.View(ctx, func(r ledger.Reader) error {
		b, err := r.Batch(task, date)
		if got := len(strings.Fields(b.OpenPlanRun)); got != n {
			t.Errorf("%d of %d runs are planning: %s", got, n, b.OpenPlanRun)
		}
		return err
	}))
}

func TestABatchThatOthersCountInIsNotWrittenOver(t *testing.T) {
	s, at := fresh(t)
	other := openAt(t, at, Options{})
	_, e := planned(t, s, "a", "b")
	calls := 0
	update(t, s, func(tx ledger.Tx) error {
		calls++
		b, err := tx.Batch(task, date)
		if err != nil {
			return err
		}
		if calls == 1 { // counters are no reason to run again
			if err := other.Update(ctx, func(tx ledger.Tx) error { return claim(tx, e[0], "run-2") }); err != nil {
				return err
			}
		}
		b.HaltReason = "enough"
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		b.HaltReason = "enough of it"
		return tx.PutBatch(&b)
	})
	if calls != 1 {
		t.Errorf("the function ran %d times, want once", calls)
	}
	must(t, s.View(ctx, func(r ledger.Reader) error {
		b, err := r.Batch(task, date)
		if b.Counts != (ledger.Counts{ledger.Pending: 1, ledger.Running: 1}) || b.HaltReason != "enough of it" {
			t.Errorf("the batch is %+v", b)
		}
		return err
	}))
}

func TestAProcessHasThreeConnections(t *testing.T) {
	s, at := fresh(t)
	planned(t, s, "a")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 5 {
				must(t, s.Update(ctx, func(tx ledger.Tx) error { _, err := tx.Batch(task, date); return err }))
				must(t, s.View(ctx, func(r ledger.Reader) error { _, err := r.Batch(task, date); return err }))
			}
		})
	}
	wg.Wait()
	if n := number(t, at, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'runner'"); n != 3 {
		t.Errorf("there are %d connections, want 3", n)
	}
}

// Prepared statements do, where there is no pooler: see prepare.go.
func TestNoStateOutlivesATransaction(t *testing.T) {
	s, _ := fresh(t)
	_, e := planned(t, s, "a")
	update(t, s, func(tx ledger.Tx) error { return claim(tx, e[0], "run-1") })
	place, err := s.writer.Take(ctx)
	must(t, err)
	defer s.writer.Put(place)
	var left string
	must(t, place.c.c.QueryRow(ctx, `SELECT concat_ws(', ',
		(SELECT 'setting ' || min(name) FROM pg_settings WHERE source = 'session' AND name NOT IN ('application_name')),
		(SELECT 'lock ' || min(locktype) FROM pg_locks WHERE locktype = 'advisory'),
		(SELECT 'temporary ' || min(relname) FROM pg_class WHERE relpersistence = 't'))`).Scan(&left))
	if left != "" {
		t.Errorf("left: %s", left)
	}
}

// Whoever seals a batch while a transaction plans for it keeps it from committing.
func TestNothingIsPlannedForABatchThatIsSealedMeanwhile(t *testing.T) {
	s, at := fresh(t)
	b, _ := planned(t, s, "a")
	other := openAt(t, at, Options{})
	err := s.Update(ctx, func(tx ledger.Tx) error {
		if _, err := tx.Insert(b.ID, []ledger.Input{{BizID: "late"}}); err != nil {
			return err
		}
		return other.Update(ctx, func(tx ledger.Tx) error {
			n, err := tx.Batch(task, date)
			if err != nil {
				return err
			}
			n.SealedAt, n.SealedIn, n.SealedSum = s.Now(), "file", "sum"
			return tx.PutBatch(&n)
		})
	})
	if !errors.Is(err, ledger.ErrSealed) {
		t.Errorf("got %v, want ErrSealed", err)
	}
	if all := entries(t, s); len(all) != 1 {
		t.Errorf("the batch holds %d records, want 1", len(all))
	}
}
