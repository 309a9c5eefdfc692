package ledgertest

import (
	"context"
	"sync"

	"runner/ledger"
)

func insertOnce(f *fixture) {
	b := f.batch(task, date)
	other := f.batch(task, "2026-11-12")
	insert := func(batch int64, want int64, ids ...string) {
		f.Helper()
		f.update(func(tx ledger.Tx) error {
			n, err := tx.Insert(batch, inputs(ids...))
			if err == nil {
				f.equal("inserted", n, want)
			}
			return err
		})
	}
	insert(b.ID, 2, "a", "b")
	insert(b.ID, 1, "b", "c", "a")
	insert(b.ID, 0, "a")
	insert(b.ID, 1, "d", "d") // an exact repeat collapses
	insert(b.ID, 0)
	insert(other.ID, 1, "a") // the date is part of the key

	e := f.plan(b, "a")[0]
	f.equal("a planned record", e, ledger.Entry{ID: e.ID, BatchID: b.ID,
		Key: ledger.Key{TaskName: task, BizID: "a", ExecuteDate: date}, Generation: 1})
}

func insertOnceAmongMany(f *fixture) {
	b := f.batch(task, date)
	stores := []ledger.Store{f.s, f.again(), f.again()}
	ids := serial("r", 400)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		total int64
	)
	for g := range 9 {
		wg.Go(func() {
			for from := 0; from < len(ids); from += 50 {
				// Each starts elsewhere, so that they meet.
				at := (from + g*50) % len(ids)
				var n int64
				err := stores[g%len(stores)].Update(context.Background(), func(tx ledger.Tx) (err error) {
					n, err = tx.Insert(b.ID, inputs(ids[at:at+50]...))
					return err
				})
				if err != nil {
					f.Error(err)
				}
				mu.Lock()
				total += n
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	f.equal("inserted in all", total, int64(len(ids)))
	f.equal("pending", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: int64(len(ids))})
}

func numbering(f *fixture) {
	b := f.batch(task, date)
	ids := serial("r", 2500)
	for i, j := 0, len(ids)-1; i < j; i, j = i+1, j-1 { // not in the order of keys
		ids[i], ids[j] = ids[j], ids[i]
	}
	list := f.plan(b, ids...)
	for i, e := range list {
		if e.BizID != ids[i] || e.ID != list[0].ID+int64(i) {
			f.Fatalf("record %d is %q with number %d, want %q and %d", i, e.BizID, e.ID, ids[i], list[0].ID+int64(i))
		}
	}
	later := f.plan(f.batch("another", date), "x")[0]
	if later.ID <= list[len(list)-1].ID {
		f.Fatalf("number %d was given after %d", later.ID, list[len(list)-1].ID)
	}
	got := f.batch(task, date)
	f.equal("the batch's numbers", [2]int64{got.FirstID, got.LastID}, [2]int64{list[0].ID, list[len(list)-1].ID})
}

func find(f *fixture) {
	b := f.batch(task, date)
	in := []ledger.Input{{BizID: "none"}, {BizID: "object", Payload: []byte(`{"n":1}`)}, {BizID: "empty", Payload: []byte{}}}
	f.update(func(tx ledger.Tx) error {
		_, err := tx.Insert(b.ID, in)
		return err
	})
	e := f.plan(b, "none", "object", "empty", "running")
	run := claimed(e[3], "run-1")
	waiting := done(claimed(e[1], "run-1"))
	waiting.Status = ledger.Pending
	f.swap(ledger.Change{Old: e[3], New: run}, ledger.Change{Old: e[1], New: waiting})

	ask := []ledger.Input{
		{BizID: "object", Payload: []byte(`{"n":1}`)},
		{BizID: "new"},
		{BizID: "none"},
		{BizID: "object", Payload: []byte(`{"n": 1}`)}, // bytes, not values
		{BizID: "object"},
		{BizID: "none", Payload: []byte(`{}`)},
		{BizID: "empty", Payload: []byte{}},
		{BizID: "empty"},
		{BizID: "running"},
	}
	want := []ledger.Known{
		{ID: e[1].ID, Started: true, SamePayload: true},
		{},
		{ID: e[0].ID, SamePayload: true},
		{ID: e[1].ID, Started: true},
		{ID: e[1].ID, Started: true},
		{ID: e[0].ID},
		{ID: e[2].ID, SamePayload: true},
		{ID: e[2].ID},
		{ID: e[3].ID, Status: ledger.Running, Started: true, SamePayload: true},
	}
	f.view(func(r ledger.Reader) error {
		got, err := r.Find(b.ID, ask)
		f.equal("found", got, want)
		if err != nil {
			return err
		}
		got, err = r.Find(b.ID+1000, ask[:1])
		f.equal("found in another batch", got, []ledger.Known{{}})
		return err
	})
	f.findMany(b)
}

// findMany asks for more than a statement takes, known and new mixed.
func (f *fixture) findMany(b ledger.Batch) {
	f.Helper()
	ids := serial("m", 3001)
	var known []string
	for i := 0; i < len(ids); i += 2 {
		known = append(known, ids[i])
	}
	list := f.plan(b, known...)
	f.view(func(r ledger.Reader) error {
		got, err := r.Find(b.ID, inputs(ids...))
		for i, k := range got {
			var want int64
			if i%2 == 0 {
				want = list[i/2].ID
			}
			if k.ID != want {
				f.Fatalf("key %d: found %d, want %d", i, k.ID, want)
			}
		}
		f.equal("answers", len(got), len(ids))
		return err
	})
}
