package ledgertest

import (
	"context"
	"fmt"
	"testing"

	"runner/ledger"
)

// Benchmark measures what a store's speed decides: planning, skipping what is
// done, the way of a record from pending to done, and a person's look at it.
// Read the metric records/s.
func Benchmark(b *testing.B, open func(b testing.TB, dir string) ledger.Store) {
	b.Run("plan new", func(b *testing.B) { planNew(b, open(b, b.TempDir())) })
	b.Run("find known", func(b *testing.B) { findKnown(b, open(b, b.TempDir())) })
	for _, n := range []int{500, 1} {
		b.Run(fmt.Sprintf("settle and claim/chunk=%d", n), func(b *testing.B) { cycle(b, open(b, b.TempDir()), n) })
	}
	b.Run("list newest 50", func(b *testing.B) { listNewest(b, open(b, b.TempDir())) })
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func perSecond(b *testing.B, records int) {
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}

func openBatch(b *testing.B, s ledger.Store) (batch ledger.Batch) {
	must(b, s.Update(context.Background(), func(tx ledger.Tx) error {
		batch = ledger.Batch{TaskName: task, ExecuteDate: date}
		return tx.PutBatch(&batch)
	}))
	return batch
}

const planChunk = 10_000

func numbered(from int) []ledger.Input {
	in := make([]ledger.Input, planChunk)
	for i := range in {
		in[i].BizID = fmt.Sprintf("user-%011d", from+i) // 16 characters
	}
	return in
}

func plan(b *testing.B, s ledger.Store, batch ledger.Batch, in []ledger.Input) {
	must(b, s.Update(context.Background(), func(tx ledger.Tx) error {
		_, err := tx.Insert(batch.ID, in)
		return err
	}))
}

func planNew(b *testing.B, s ledger.Store) {
	batch, n := openBatch(b, s), 0
	for b.Loop() {
		b.StopTimer()
		in := numbered(n)
		b.StartTimer()
		plan(b, s, batch, in)
		n += planChunk
	}
	perSecond(b, n)
}

// settleAll takes the records of a batch to done.
func settleAll(b *testing.B, s ledger.Store) {
	for {
		more := false
		must(b, s.Update(context.Background(), func(tx ledger.Tx) error {
			list, err := tx.List(ledger.Query{TaskName: task, Statuses: []ledger.Status{ledger.Pending}, Limit: planChunk})
			if err != nil {
				return err
			}
			more = len(list) > 0
			changes := make([]ledger.Change, len(list))
			for i, e := range list {
				changes[i] = ledger.Change{Old: e, New: done(claimed(e, "run-1"))}
			}
			return tx.Swap(changes)
		}))
		if !more {
			return
		}
	}
}

func findKnown(b *testing.B, s ledger.Store) {
	batch := openBatch(b, s)
	const total = 20 * planChunk
	in := make([]ledger.Input, 0, total)
	for n := 0; n < total; n += planChunk {
		part := numbered(n)
		plan(b, s, batch, part)
		settleAll(b, s)
		in = append(in, part...)
	}
	n, found := 0, 0
	for b.Loop() {
		at := n % total
		must(b, s.View(context.Background(), func(r ledger.Reader) error {
			known, err := r.Find(batch.ID, in[at:at+planChunk])
			for _, k := range known {
				if k.Status == ledger.Done && k.SamePayload {
					found++
				}
			}
			return err
		}))
		n += planChunk
	}
	if found != n {
		b.Fatalf("found %d of %d", found, n)
	}
	perSecond(b, n)
}

// cycle settles a chunk and claims the next in one transaction, each from
// what the ledger holds at that moment.
func cycle(b *testing.B, s ledger.Store, chunk int) {
	batch := openBatch(b, s)
	planned, n := 0, 0
	var first int64
	grow := func() {
		plan(b, s, batch, numbered(planned))
		planned += planChunk
		if first == 0 {
			must(b, s.View(context.Background(), func(r ledger.Reader) error {
				got, err := r.Batch(task, date)
				first = got.FirstID
				return err
			}))
		}
	}
	var held []int64
	for b.Loop() {
		if n+chunk > planned {
			b.StopTimer()
			grow()
			b.StartTimer()
		}
		next := make([]int64, chunk)
		for i := range next {
			next[i] = first + int64(n+i)
		}
		must(b, s.Update(context.Background(), func(tx ledger.Tx) error {
			if err := step(tx, held, done); err != nil {
				return err
			}
			return step(tx, next, func(e ledger.Entry) ledger.Entry { return claimed(e, "run-1") })
		}))
		held = next
		n += chunk
	}
	perSecond(b, n)
}

func step(tx ledger.Tx, ids []int64, next func(ledger.Entry) ledger.Entry) error {
	list, err := tx.Get(ids)
	if err != nil {
		return err
	}
	changes := make([]ledger.Change, len(list))
	for i, e := range list {
		changes[i] = ledger.Change{Old: e, New: next(e)}
	}
	return tx.Swap(changes)
}

func listNewest(b *testing.B, s ledger.Store) {
	batch := openBatch(b, s)
	for n := 0; n < 10*planChunk; n += planChunk {
		plan(b, s, batch, numbered(n))
	}
	for b.Loop() {
		must(b, s.View(context.Background(), func(r ledger.Reader) error {
			list, err := r.List(ledger.Query{TaskName: task, ExecuteDate: date, Limit: 50})
			if err == nil && len(list) != 50 {
				err = fmt.Errorf("listed %d", len(list))
			}
			return err
		}))
	}
}
