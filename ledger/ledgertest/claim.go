package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"runner/ledger"
)

// staleWrite is a change whose record has gone on: all of its transaction is
// undone, and made again.
func staleWrite(f *fixture) {
	b := f.batch(task, date)
	e := f.plan(b, "a", "b", "c")
	first := claimed(e[0], "run-1")
	f.swap(ledger.Change{Old: e[0], New: first})

	wrongFence, wrongStatus, gone := e[2], e[2], e[2]
	wrongFence.Fence = 7
	wrongStatus.Status = ledger.Failed
	gone.ID += 1000
	for name, c := range map[string]ledger.Change{
		"taken":        {Old: e[0], New: claimed(e[0], "run-2")},
		"wrong fence":  {Old: wrongFence, New: claimed(e[2], "run-2")},
		"wrong status": {Old: wrongStatus, New: done(e[2])},
		"gone":         {Old: gone, New: done(gone)},
	} {
		f.raced(name, ledger.Change{Old: e[1], New: claimed(e[1], "run-2")}, c)
		f.equal("the record that was claimed first", f.get(e[0].ID), first)
		f.equal("the record that was free", f.get(e[1].ID), e[1])
		f.equal("the other record", f.get(e[2].ID), e[2])
		f.equal("counts", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: 2, ledger.Running: 1})
	}

	// Two changes of one record in one call build on each other.
	f.swap(ledger.Change{Old: first, New: done(first)}, ledger.Change{Old: done(first), New: first})
	f.equal("the record after two changes", f.get(e[0].ID), first)
}

// raced makes changes of which one is stale: nothing of them is written, and
// the function of the transaction is called once more.
func (f *fixture) raced(name string, changes ...ledger.Change) {
	f.Helper()
	tries := 0
	f.update(func(tx ledger.Tx) error {
		if tries++; tries > 1 {
			return nil
		}
		err := tx.Swap(changes)
		if err != nil && !errors.Is(err, ledger.ErrRaced) {
			f.Errorf("%s: %v", name, err)
		}
		return nil // overlooked: nothing is written all the same
	})
	f.equal(name+": tries", tries, 2)
}

// manyClaims claims a chunk of records, at first one of which others have taken
// some.
func manyClaims(f *fixture) {
	b := f.batch(task, date)
	e := f.plan(b, serial("r", 40)...)
	f.swap(ledger.Change{Old: e[5], New: claimed(e[5], "run-1")}, ledger.Change{Old: e[39], New: done(e[39])})
	changes := make([]ledger.Change, len(e))
	for i := range e {
		changes[i] = ledger.Change{Old: e[i], New: ledger.Claim(e[i], ledger.Act, "run-2")}
	}
	f.raced("taken in the middle and at the end", changes...)
	f.equal("counts", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: 38, ledger.Running: 1, ledger.Done: 1})
	f.swap(slices.Concat(changes[:5], changes[6:39])...)
	f.equal("a record that was taken", f.get(e[5].ID), claimed(e[5], "run-1"))
	f.equal("a record that was done", f.get(e[39].ID), done(e[39]))
	f.equal("a record that was free", f.get(e[6].ID), ledger.Claim(e[6], ledger.Act, "run-2"))
	f.equal("counts", f.batch(task, date).Counts, ledger.Counts{ledger.Running: 39, ledger.Done: 1})
	f.raced("all of it taken", changes...)
	f.equal("counts", f.batch(task, date).Counts, ledger.Counts{ledger.Running: 39, ledger.Done: 1})

	// There and back again, and there: each builds on the one before.
	var again []ledger.Change
	for _, c := range changes[10:30] {
		again = append(again, ledger.Change{Old: c.New, New: c.Old}, c, ledger.Change{Old: c.New, New: c.Old})
	}
	f.swap(again...)
	f.equal("a record after three changes", f.get(e[10].ID), e[10])
	f.equal("counts", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: 20, ledger.Running: 19, ledger.Done: 1})
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// manySuccesses settles a chunk of claims, in the order in which they ended, of
// which others have taken one.
func manySuccesses(f *fixture) {
	b := f.batch(task, date)
	e := f.plan(b, serial("r", 40)...)
	var claims, ends []ledger.Change
	for i := range e {
		claims = append(claims, ledger.Change{Old: e[i], New: ledger.Claim(e[i], ledger.Act, "run-1")})
	}
	f.swap(claims...)
	taken := claims[7].New
	taken.Fence++
	f.swap(ledger.Change{Old: claims[7].New, New: taken})
	zero := 0
	for i := range claims {
		n := claims[(i*7)%40].New // not in the order of the numbers
		was := n
		n.Status, n.Attempts, n.ActFence, n.Detail, n.ExitCode = ledger.Done, 1, 1, ledger.DetailApplied, &zero
		n.StartedAt, n.EndedAt = noon.Add(time.Duration(i)*time.Millisecond), noon.Add(time.Duration(i+5)*time.Millisecond)
		ends = append(ends, ledger.Change{Old: was, New: n})
	}
	f.raced("one of them taken", ends...)
	f.swap(slices.Delete(slices.Clone(ends), 1, 2)...)
	f.equal("the record that was taken", f.get(e[7].ID), taken)
	f.equal("the last record", f.get(ends[39].New.ID), ends[39].New)
	f.equal("counts", f.batch(task, date).Counts, ledger.Counts{ledger.Running: 1, ledger.Done: 39})
}

// manySuccessesAtOnce settles a chunk of which nobody has taken any.
func manySuccessesAtOnce(f *fixture) {
	b := f.batch(task, date)
	e := f.plan(b, serial("r", 40)...)
	var claims, ends []ledger.Change
	for i := range e {
		claims = append(claims, ledger.Change{Old: e[i], New: ledger.Claim(e[i], ledger.Act, "run-1")})
	}
	f.swap(claims...)
	for i := range claims {
		n := claims[39-i].New
		was := n
		n.Status, n.Attempts, n.ActFence, n.Detail = ledger.Done, 1, 1, ledger.DetailNoop
		n.StartedAt, n.EndedAt = noon.Add(time.Duration(i)*time.Microsecond), noon.Add(time.Duration(i)*time.Second)
		ends = append(ends, ledger.Change{Old: was, New: n})
	}
	f.swap(ends...)
	for _, c := range ends {
		f.equal("a settled record", f.get(c.New.ID), c.New)
	}
	f.equal("counts", f.batch(task, date).Counts, ledger.Counts{ledger.Done: 40})
}

func wholeRecord(f *fixture) {
	e := f.plan(f.batch(task, date), "a")[0]
	full := e
	fill(&full, "Key", "ID", "BatchID")
	f.swap(ledger.Change{Old: e, New: full})
	bare := e
	bare.Fence = 99
	f.swap(ledger.Change{Old: full, New: bare})
	f.equal("a record that lost all its fields", f.get(e.ID), bare)
}

func claimsAmongConnections(f *fixture) {
	b := f.batch(task, date)
	ids := serial("r", 200)
	f.plan(b, ids...)
	stores := []ledger.Store{f.s, f.again(), f.again()}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		total int
	)
	for g := range 6 {
		wg.Go(func() {
			n, err := claimAll(stores[g%len(stores)], fmt.Sprint("run-", g), 7)
			if err != nil {
				f.Error(err)
			}
			mu.Lock()
			total += n
			mu.Unlock()
		})
	}
	wg.Wait()
	f.claimedOnce(b, total, len(ids))
}

// claimAll claims what is pending, as a run does, until nothing is.
func claimAll(s ledger.Store, run string, limit int) (claims int, err error) {
	q := ledger.Query{TaskName: task, ExecuteDate: date, Statuses: []ledger.Status{ledger.Pending}, Ascending: true, Limit: limit}
	for {
		// The candidates are read outside the transaction, so that some are
		// stale by the time they are claimed.
		var list []ledger.Entry
		err := s.View(context.Background(), func(r ledger.Reader) (err error) {
			list, err = r.List(q)
			return err
		})
		if err != nil || len(list) == 0 {
			return claims, err
		}
		ids := make([]int64, len(list))
		for i, e := range list {
			ids[i] = e.ID
		}
		n := 0
		err = s.Update(context.Background(), func(tx ledger.Tx) error {
			_, free, _, err := tx.Lock(ledger.Run{ID: run, TaskName: task, ExecuteDate: date}, ids)
			var changes []ledger.Change
			for _, e := range free {
				if e.Status == ledger.Pending {
					changes = append(changes, ledger.Change{Old: e, New: claimed(e, run)})
				}
			}
			n = len(changes)
			return errors.Join(err, tx.Swap(changes))
		})
		if err != nil {
			return claims, err
		}
		claims += n
	}
}

func (f *fixture) claimedOnce(b ledger.Batch, claims, records int) {
	f.Helper()
	f.equal("successful claims", claims, records)
	f.view(func(r ledger.Reader) error {
		list, err := r.List(ledger.Query{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate})
		f.equal("records", len(list), records)
		for _, e := range list {
			if e.Status != ledger.Running || e.Fence != 1 {
				f.Fatalf("%s is %s with fence %d, want running with fence 1", e.Key, e.Status, e.Fence)
			}
		}
		return err
	})
	f.equal("counts", f.batch(b.TaskName, b.ExecuteDate).Counts, ledger.Counts{ledger.Running: int64(records)})
}
