// Package ledgertest is the contract of ledger.Store as tests: one suite that
// every store runs, and benchmarks that compare them.
//
// A store's test is an Opener, a TestMain that calls Main, a test that calls
// Run and a benchmark that calls Benchmark. The package imports ledger and
// what is needed to test; it knows no store.
package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"runner/ledger"

	"github.com/google/go-cmp/cmp"
)

// fixture is one ledger under test. Its folder stands for the ledger: opening
// it again is another connection to the same records.
type fixture struct {
	*testing.T
	dir  string
	open func(t *testing.T, dir string) ledger.Store
	s    ledger.Store
}

// Run tests a store. open opens the ledger of a folder, which it may create;
// it is called several times with the same one, also while it is open.
func Run(t *testing.T, open func(t *testing.T, dir string) ledger.Store) {
	cases := []struct {
		name string
		run  func(f *fixture)
	}{
		{"a record is inserted once", insertOnce},
		{"many connections insert a record once", insertOnceAmongMany},
		{"records are numbered in the order of planning", numbering},
		{"known records are told from new ones", find},
		{"a stale write is refused", staleWrite},
		{"of a chunk of claims the taken ones are refused", manyClaims},
		{"of a chunk of successes the taken ones are refused", manySuccesses},
		{"a chunk of successes is written as it is", manySuccessesAtOnce},
		{"a write replaces the whole record", wholeRecord},
		{"many connections never claim a record twice", claimsAmongConnections},
		{"many processes never claim a record twice", claimsAmongProcesses},
		{"many processes create one ledger", createAmongProcesses},
		{"a process killed in a transaction leaves nothing", killedWriter},
		{"pages follow a cursor in both directions", paging},
		{"a list holds what its query selects", queries},
		{"what took longest is found within a budget", longest},
		{"a list of runs holds what its query selects", runs},
		{"a prefix is taken literally", prefixes},
		{"a key is an opaque string", hostileKeys},
		{"a payload is kept byte for byte", hostilePayloads},
		{"every field of a record is kept", recordFields},
		{"every field of a story is kept", attemptFields},
		{"every field of a batch is kept", batchFields},
		{"every field of a run is kept", runFields},
		{"a run need not be recorded before it is named", namedRuns},
		{"a lease lives until its end, and is never revived", leases},
		{"a story is never rewritten", storyIsFinal},
		{"counters equal a recount", counters},
		{"a failed update writes nothing", failedUpdate},
		{"an update sees what it wrote", ownWrites},
		{"a reader sees one moment", snapshot},
		{"a context limits the wait and nothing else", contexts},
		{"what was committed survives", durable},
		{"what is missing is not found", missing},
		{"stories are told together as one by one", stories},
		{"what is forgotten comes back as it was", forgetAndRecall},
		{"forgetting takes one batch, in the order of its numbers", forgetOne},
		{"what a ledger says of itself is kept", meta},
		{"a sealed batch takes no records", sealedInsert},
		{"a batch isn't sealed while it changes", sealRaces},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.run(&fixture{T: t, dir: dir, open: open, s: open(t, dir)})
		})
	}
}

// now is a moment that every store can keep.
var now = time.Date(2026, 11, 29, 8, 30, 15, 123456000, time.UTC)

const (
	task = "grant-coupon"
	date = "2026-11-11"
)

func (f *fixture) again() ledger.Store {
	f.Helper()
	return f.open(f.T, f.dir)
}

func (f *fixture) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if d := cmp.Diff(want, got); d != "" {
		f.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func (f *fixture) update(fn func(ledger.Tx) error) {
	f.Helper()
	f.check(f.s.Update(context.Background(), fn))
}

func (f *fixture) view(fn func(ledger.Reader) error) {
	f.Helper()
	f.check(f.s.View(context.Background(), fn))
}

// batch makes a batch, or finds it.
func (f *fixture) batch(task, date string) (b ledger.Batch) {
	f.Helper()
	f.update(func(tx ledger.Tx) (err error) {
		b = ledger.Batch{TaskName: task, ExecuteDate: date, CreatedAt: now}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		b, err = tx.Batch(task, date)
		return err
	})
	return b
}

// plan inserts ids and gives their entries.
func (f *fixture) plan(batch ledger.Batch, ids ...string) (list []ledger.Entry) {
	f.Helper()
	f.update(func(tx ledger.Tx) (err error) {
		if _, err := tx.Insert(batch.ID, inputs(ids...)); err != nil {
			return err
		}
		known, err := tx.Find(batch.ID, inputs(ids...))
		if err != nil {
			return err
		}
		for _, k := range known {
			e, err := tx.Get([]int64{k.ID})
			if err != nil {
				return err
			}
			list = append(list, e...)
		}
		return nil
	})
	if len(list) != len(ids) {
		f.Fatalf("planned %d records, got %d", len(ids), len(list))
	}
	return list
}

func (f *fixture) get(id int64) (e ledger.Entry) {
	f.Helper()
	f.view(func(r ledger.Reader) error {
		list, err := r.Get([]int64{id})
		if err == nil && len(list) != 1 {
			err = fmt.Errorf("record %d: got %d entries", id, len(list))
		}
		if err == nil {
			e = list[0]
		}
		return err
	})
	return e
}

// swap writes changes of which none may be stale.
func (f *fixture) swap(changes ...ledger.Change) {
	f.Helper()
	f.update(func(tx ledger.Tx) error { return tx.Swap(changes) })
}

func (f *fixture) list(q ledger.Query) (ids []string) {
	f.Helper()
	f.view(func(r ledger.Reader) error {
		list, err := r.List(q)
		for _, e := range list {
			ids = append(ids, e.BizID)
		}
		return err
	})
	return ids
}

func inputs(ids ...string) []ledger.Input {
	in := make([]ledger.Input, len(ids))
	for i, id := range ids {
		in[i].BizID = id
	}
	return in
}

// serial gives n keys: prefix0000000 and so on.
func serial(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%07d", prefix, i)
	}
	return ids
}

// claimed and done are the two steps that most records take.
func claimed(e ledger.Entry, run string) ledger.Entry {
	e.Status, e.Fence, e.RunID, e.StartedAt = ledger.Running, e.Fence+1, run, now
	return e
}

func done(e ledger.Entry) ledger.Entry {
	e.Status, e.Attempts, e.ActFence, e.Detail, e.EndedAt = ledger.Done, e.Attempts+1, e.Fence, ledger.DetailApplied, now
	return e
}
