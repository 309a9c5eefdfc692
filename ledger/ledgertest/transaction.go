package ledgertest

import (
	"context"
	"errors"
	"fmt"

	"runner/ledger"
)

func failedUpdate(f *fixture) {
	b := f.batch(task, date)
	e := f.plan(b, "a")[0]
	boom := errors.New("boom")
	write := func(tx ledger.Tx) error {
		if _, err := tx.Insert(b.ID, inputs("b", "c")); err != nil {
			return err
		}
		n := ledger.Batch{TaskName: "new", ExecuteDate: date}
		return errors.Join(tx.PutBatch(&n), tx.PutRun(&ledger.Run{ID: "run-1"}), tx.Swap([]ledger.Change{{Old: e, New: claimed(e, "run-1")}}),
			tx.AddAttempts([]ledger.Attempt{{RecordID: e.ID, Fence: 1, Output: "text"}}))
	}
	untouched := func(what string) {
		f.Helper()
		f.equal(what+": the record", f.get(e.ID), e)
		f.equal(what+": its story", f.story(e.ID), []ledger.Attempt(nil))
		f.equal(what+": records", f.list(ledger.Query{}), []string{"a"})
		f.view(func(r ledger.Reader) error {
			runs, err := r.Runs(ledger.RunQuery{})
			f.equal(what+": runs", len(runs), 0)
			list, err2 := r.Batches("", "")
			f.equal(what+": batches", len(list), 1)
			f.equal(what+": counts", list[0].Counts, ledger.Counts{ledger.Pending: 1})
			return errors.Join(err, err2)
		})
	}
	err := f.s.Update(context.Background(), func(tx ledger.Tx) error {
		if err := write(tx); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		f.Fatalf("got %v, want the error of the function", err)
	}
	untouched("after an error")

	func() {
		defer func() { f.equal("the panic", recover(), any("boom")) }()
		_ = f.s.Update(context.Background(), func(tx ledger.Tx) error {
			f.check(write(tx))
			panic("boom")
		})
	}()
	untouched("after a panic")

	// The same numbers may be given out again, for something else.
	f.plan(f.batch("other", date), "x")
	f.swap(ledger.Change{Old: e, New: claimed(e, "run-2")})
	f.equal("the record", f.get(e.ID), claimed(e, "run-2"))
	f.equal("another batch", f.list(ledger.Query{TaskName: "other"}), []string{"x"})
}

func ownWrites(f *fixture) {
	b := f.batch(task, date)
	f.update(func(tx ledger.Tx) error {
		if _, err := tx.Insert(b.ID, inputs("a", "b")); err != nil {
			return err
		}
		list, err := tx.List(ledger.Query{TaskName: task, ExecuteDate: date, Ascending: true})
		if err != nil || len(list) != 2 {
			return fmt.Errorf("listed %d of 2: %w", len(list), err)
		}
		if err := tx.Swap([]ledger.Change{{Old: list[0], New: claimed(list[0], "run-1")}}); err != nil {
			return err
		}
		got, err := tx.Batch(task, date)
		f.equal("counts", got.Counts, ledger.Counts{ledger.Pending: 1, ledger.Running: 1})
		f.equal("numbers", [2]int64{got.FirstID, got.LastID}, [2]int64{list[0].ID, list[1].ID})
		if err != nil {
			return err
		}
		counts, err := tx.Count([]int64{list[0].ID, list[1].ID, list[1].ID + 1000})
		f.equal("counted", counts, ledger.Counts{ledger.Pending: 1, ledger.Running: 1})
		return err
	})
	f.equal("counts afterwards", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: 1, ledger.Running: 1})
}

func snapshot(f *fixture) {
	b := f.batch(task, date)
	e := f.plan(b, "a", "b")
	writer := f.again()
	f.view(func(r ledger.Reader) error {
		for range 2 { // before and after the commit of another
			got, err := r.Get([]int64{e[1].ID, e[1].ID + 1000, e[0].ID})
			f.equal("records", got, []ledger.Entry{e[1], e[0]})
			if err != nil {
				return err
			}
			list, err := r.List(ledger.Query{})
			f.equal("listed", len(list), 2)
			if err != nil {
				return err
			}
			got2, err := r.Batch(task, date)
			f.equal("counts", got2.Counts, ledger.Counts{ledger.Pending: 2})
			if err != nil {
				return err
			}
			err = writer.Update(context.Background(), func(tx ledger.Tx) error {
				if _, err := tx.Insert(b.ID, inputs("c")); err != nil {
					return err
				}
				now, err := tx.Get([]int64{e[0].ID})
				if err != nil {
					return err
				}
				return tx.Swap([]ledger.Change{{Old: now[0], New: claimed(now[0], "run-1")}})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	f.equal("counts afterwards", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: 2, ledger.Running: 1})
}

func contexts(f *fixture) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range []ledger.Store{f.s, f.again()} {
		err := s.Update(ended, func(ledger.Tx) error {
			f.Error("an update began after its context had ended")
			return nil
		})
		f.equal("update is canceled", errors.Is(err, context.Canceled), true)
		err = s.View(ended, func(ledger.Reader) error { return nil })
		f.equal("view is canceled", errors.Is(err, context.Canceled), true)

		// One that waits for another update stops waiting. Between two stores it
		// may not have to, where updates run side by side.
		waiting, stop := context.WithCancel(context.Background())
		f.update(func(ledger.Tx) error {
			result := make(chan error)
			go func() { result <- s.Update(waiting, func(ledger.Tx) error { return nil }) }()
			stop()
			err := <-result
			f.equal("waiting is canceled", errors.Is(err, context.Canceled) || err == nil && s != f.s, true)
			return nil
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.check(f.s.Update(ctx, func(tx ledger.Tx) error {
		b := ledger.Batch{TaskName: task, ExecuteDate: date}
		cancel() // once begun, it goes on
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		_, err := tx.Insert(b.ID, inputs("a"))
		return err
	}))
	f.equal("records", f.list(ledger.Query{}), []string{"a"})
}

func durable(f *fixture) {
	b := f.batch(task, date)
	e := f.plan(b, serial("r", 1500)...)
	f.swap(ledger.Change{Old: e[7], New: claimed(e[7], "run-1")})
	id := f.s.ID()
	f.equal("the ledger has an id", id != "", true)
	f.check(f.s.Close())
	f.s = f.again()
	f.equal("the ledger's id", f.s.ID(), id)
	f.equal("a record", f.get(e[7].ID), claimed(e[7], "run-1"))
	f.equal("records", len(f.list(ledger.Query{})), len(e))
	f.equal("counts", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: int64(len(e) - 1), ledger.Running: 1})
}

func missing(f *fixture) {
	f.view(func(r ledger.Reader) error {
		_, err := r.Batch(task, date)
		f.equal("batch is not found", errors.Is(err, ledger.ErrNotFound), true)
		list, err := r.Get([]int64{1, 2})
		f.equal("entries", len(list), 0)
		return err
	})
	for what, write := range map[string]func(ledger.Tx) error{
		"batch": func(tx ledger.Tx) error { return tx.PutBatch(&ledger.Batch{ID: 77, TaskName: "t", ExecuteDate: date}) },
		"batch of a record": func(tx ledger.Tx) error {
			_, err := tx.Insert(77, inputs("a"))
			return err
		},
		"run": func(tx ledger.Tx) error { return tx.PutRun(&ledger.Run{No: 77, ID: "r"}) },
	} {
		err := f.s.Update(context.Background(), write)
		f.equal(what+" is not found", errors.Is(err, ledger.ErrNotFound), true)
	}
}
