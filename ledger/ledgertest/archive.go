package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"runner/ledger"
)

// full gives records that differ in every field, each with a story.
func (f *fixture) full(b ledger.Batch, ids ...string) (list []ledger.Entry, story []ledger.Attempt) {
	f.Helper()
	for i, e := range f.plan(b, ids...) {
		n := e
		if i%3 > 0 {
			fill(&n, "Key", "ID", "BatchID")
			n.Fence, n.Status = n.Fence+int64(i), ledger.Done
			n.Result = fmt.Sprint("result \xff ", i) // no UTF-8
		}
		f.swap(ledger.Change{Old: e, New: n})
		list = append(list, n)
		for line := range i % 3 {
			var a ledger.Attempt
			fill(&a, "RecordID", "Fence")
			a.RecordID, a.Fence = e.ID, int64(line+1)
			story = append(story, a)
		}
	}
	f.update(func(tx ledger.Tx) error { return tx.AddAttempts(story) })
	return list, story
}

func stories(f *fixture) {
	e, want := f.full(f.batch(task, date), serial("r", 9)...)
	f.full(f.batch("other", date), serial("r", 3)...)
	var ids []int64
	for _, r := range e {
		ids = append(ids, r.ID)
	}
	f.view(func(r ledger.Reader) error {
		got, err := r.Stories(ids)
		f.equal("stories", got, want)
		if err != nil {
			return err
		}
		got, err = r.Stories([]int64{ids[2], ids[5]})
		f.equal("stories of some", got, append(f.story(ids[2]), f.story(ids[5])...))
		if err != nil {
			return err
		}
		got, err = r.Stories(nil)
		f.equal("stories of none", len(got), 0)
		return err
	})
}

func forgetAndRecall(f *fixture) {
	b := f.batch(task, date)
	e, story := f.full(b, serial("r", 1500)...)
	before := f.batch(task, date)
	f.update(func(tx ledger.Tx) error {
		for after := int64(0); ; {
			last, err := tx.Forget(b.ID, after, 400)
			if err != nil || last == 0 {
				return err
			}
			after = last
		}
	})
	f.equal("records", f.list(ledger.Query{}), []string(nil))
	f.equal("its story", f.story(e[2].ID), []ledger.Attempt(nil))
	f.equal("the batch", f.batch(task, date), before)
	next := f.plan(f.batch("other", date), "x")[0]
	f.equal("numbers are not given twice", next.ID > e[len(e)-1].ID, true)

	for range 2 { // the second time they are there
		f.update(func(tx ledger.Tx) error {
			if err := tx.Recall(e); err != nil {
				return err
			}
			return tx.AddAttempts(story)
		})
	}
	f.view(func(r ledger.Reader) error {
		got, err := r.List(ledger.Query{TaskName: task, ExecuteDate: date, Ascending: true})
		f.equal("records", got, e)
		if err != nil {
			return err
		}
		var ids []int64
		for _, r := range e {
			ids = append(ids, r.ID)
		}
		lines, err := r.Stories(ids)
		f.equal("stories", lines, story)
		return err
	})
	f.equal("the batch", f.batch(task, date), before)
	f.equal("numbers are not given twice", f.plan(f.batch("other", date), "y")[0].ID > next.ID, true)
}

func forgetOne(f *fixture) {
	one, two := f.batch(task, date), f.batch("other", date)
	var all []ledger.Entry
	for i := range 6 { // in turn
		b := one
		if i%2 == 1 {
			b = two
		}
		e, _ := f.full(b, "a"+fmt.Sprint(i), "b"+fmt.Sprint(i), "c"+fmt.Sprint(i))
		all = append(all, e...)
	}
	var first, second, none int64
	f.update(func(tx ledger.Tx) (err error) {
		if first, err = tx.Forget(one.ID, 0, 4); err != nil {
			return err
		}
		if second, err = tx.Forget(one.ID, first, 100); err != nil {
			return err
		}
		none, err = tx.Forget(one.ID, second, 100)
		return err
	})
	f.equal("how far it went", []int64{first, second, none}, []int64{all[6].ID, all[14].ID, 0})
	f.equal("what is left", f.list(ledger.Query{Ascending: true}), []string{"a1", "b1", "c1", "a3", "b3", "c3", "a5", "b5", "c5"})
	f.equal("a story that is left", len(f.story(all[5].ID)), 2)
}

func sealedInsert(f *fixture) {
	b := f.batch(task, date)
	f.plan(b, "a")
	b.SealedAt, b.SealedIn, b.SealedSum = now, "file", "sum"
	f.update(func(tx ledger.Tx) error { return tx.PutBatch(&b) })
	err := f.s.Update(context.Background(), func(tx ledger.Tx) error {
		_, err := tx.Insert(b.ID, inputs("b"))
		return err
	})
	f.equal("it is refused", errors.Is(err, ledger.ErrSealed), true)
	f.equal("records", f.list(ledger.Query{}), []string{"a"})
	b.SealedAt = time.Time{}
	f.update(func(tx ledger.Tx) error { return tx.PutBatch(&b) })
	f.plan(b, "b")
}

func meta(f *fixture) {
	read := func(want string) {
		f.Helper()
		f.view(func(r ledger.Reader) error {
			got, err := r.Meta("key")
			f.equal("the value", got, want)
			return err
		})
	}
	read("")
	for _, v := range []string{"one", "two", "", "", "three"} {
		f.update(func(tx ledger.Tx) error { return tx.PutMeta("key", v) })
		read(v)
	}
}

// sealRaces seals a batch that it read before another store planned a record.
// The transaction runs again, or the planner waits for it and is refused: in
// no case is a record in a batch that was sealed without it.
func sealRaces(f *fixture) {
	b := f.batch(task, date)
	other := f.again()
	planned := make(chan error, 1)
	tries := 0
	err := f.s.Update(context.Background(), func(tx ledger.Tx) error {
		now1, err := tx.Batch(task, date)
		if err != nil {
			return err
		}
		if now1.Open() > 0 {
			return ledger.ErrNotFound // not complete: it isn't sealed
		}
		if tries++; tries == 1 {
			began := make(chan struct{})
			go func() {
				close(began)
				planned <- other.Update(context.Background(), func(tx ledger.Tx) error {
					_, err := tx.Insert(b.ID, inputs("late"))
					return err
				})
			}()
			<-began
			select { // side by side it is done at once; else it waits for this one
			case err := <-planned:
				planned <- err
			case <-time.After(300 * time.Millisecond):
			}
		}
		now1.SealedAt = now
		return tx.PutBatch(&now1)
	})
	perr := <-planned
	sealed := f.batch(task, date).Sealed()
	switch {
	case perr == nil && !sealed && errors.Is(err, ledger.ErrNotFound):
	case errors.Is(perr, ledger.ErrSealed) && sealed && err == nil:
	default:
		f.Fatalf("the planner got %v, who sealed got %v, and the batch is sealed: %v", perr, err, sealed)
	}
}
