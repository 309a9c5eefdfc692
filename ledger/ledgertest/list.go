package ledgertest

import (
	"context"
	"slices"
	"time"

	"runner/ledger"
)

func paging(f *fixture) {
	b := f.batch(task, date)
	other := f.batch("other", date)
	ids := serial("r", 130)
	f.plan(b, ids[:60]...)
	f.plan(other, serial("x", 20)...) // numbers in between
	f.plan(b, ids[60:]...)
	newest := slices.Clone(ids)
	slices.Reverse(newest)

	f.equal("newest first", f.pages(ledger.Query{TaskName: task, ExecuteDate: date, Limit: 50}), newest)
	f.equal("oldest first", f.pages(ledger.Query{TaskName: task, ExecuteDate: date, Limit: 50, Ascending: true}), ids)
	f.equal("without a limit", f.list(ledger.Query{TaskName: task}), newest)
	f.equal("with statuses", f.pages(ledger.Query{TaskName: task, Limit: 7, Statuses: []ledger.Status{ledger.Pending}}), newest)
	f.equal("by prefix", f.pages(ledger.Query{BizPrefix: "r", Limit: 50}), newest)
	f.equal("by prefix, oldest first", f.pages(ledger.Query{BizPrefix: "r", Limit: 50, Ascending: true}), ids)
	f.equal("of the whole ledger", len(f.pages(ledger.Query{Limit: 49})), 150)

	f.view(func(r ledger.Reader) error {
		list, err := r.List(ledger.Query{TaskName: task, Ascending: true})
		if err != nil {
			return err
		}
		got, err := r.List(ledger.Query{TaskName: task, After: list[9].ID, Before: list[12].ID})
		f.equal("between two cursors", got, []ledger.Entry{list[11], list[10]})
		return err
	})
}

// pages lists all, a page after the other.
func (f *fixture) pages(q ledger.Query) (ids []string) {
	f.Helper()
	for {
		var page []ledger.Entry
		f.view(func(r ledger.Reader) (err error) {
			page, err = r.List(q)
			return err
		})
		for _, e := range page {
			ids = append(ids, e.BizID)
		}
		if len(page) < q.Limit {
			return ids
		}
		last := page[len(page)-1].ID
		if q.Ascending {
			q.After = last
		} else {
			q.Before = last
		}
	}
}

// queries lists from three batches with records in every status.
func queries(f *fixture) {
	f.populate()
	f.wait("a0", 2*time.Hour)
	f.wait("b4", 3*time.Hour)
	f.wait("c3", time.Hour)
	f.last("c2", time.Hour)
	f.last("a2", time.Hour-time.Microsecond)
	s := func(s ...ledger.Status) []ledger.Status { return s }
	for _, c := range []struct {
		name string
		q    ledger.Query
		want []string
	}{
		{"all", ledger.Query{Limit: 3}, []string{"c5", "c4", "c3"}},
		{"a status of every batch", ledger.Query{Statuses: s(ledger.Failed)}, []string{"c3", "b3", "a3"}},
		{"two statuses", ledger.Query{Statuses: s(ledger.Failed, ledger.InDoubt)}, []string{"c4", "c3", "b4", "b3", "a4", "a3"}},
		{"pending and failed", ledger.Query{Statuses: s(ledger.Pending, ledger.Failed)}, []string{"c3", "c0", "b3", "b0", "a3", "a0"}},
		{"done", ledger.Query{Statuses: s(ledger.Done), Ascending: true}, []string{"a2", "b2", "c2"}},
		{"skipped, a task", ledger.Query{Statuses: s(ledger.Skipped), TaskName: "t1"}, []string{"b5", "a5"}},
		{"running, a date", ledger.Query{Statuses: s(ledger.Running), ExecuteDate: "2026-11-11"}, []string{"c1", "a1"}},
		{"failed, limited", ledger.Query{Statuses: s(ledger.Failed, ledger.Skipped), Limit: 3}, []string{"c5", "c3", "b5"}},
		{"failed in one batch, oldest first", ledger.Query{TaskName: "t1", ExecuteDate: "2026-11-12", Statuses: s(ledger.Skipped, ledger.Failed), Ascending: true}, []string{"b3", "b5"}},
		{"a task", ledger.Query{TaskName: "t2"}, []string{"c5", "c4", "c3", "c2", "c1", "c0"}},
		{"no such task", ledger.Query{TaskName: "t3"}, nil},
		{"no such date", ledger.Query{ExecuteDate: "2026-01-01", Statuses: s(ledger.Failed)}, nil},
		{"keys", ledger.Query{BizIDs: []string{"a1", "c3", "zz", "a1"}}, []string{"c3", "a1"}},
		{"keys of a task", ledger.Query{BizIDs: []string{"a1", "c3"}, TaskName: "t1"}, []string{"a1"}},
		{"keys and status", ledger.Query{BizIDs: []string{"a1", "a3", "c3"}, Statuses: s(ledger.Failed)}, []string{"c3", "a3"}},
		{"a run", ledger.Query{RunID: "run-b"}, []string{"b5", "b4", "b3", "b2", "b1"}},
		{"a run and status", ledger.Query{RunID: "run-b", Statuses: s(ledger.Done)}, []string{"b2"}},
		{"no such run", ledger.Query{RunID: "run-z"}, nil},
		{"since", ledger.Query{Since: now.Add(2 * time.Hour)}, []string{"c5", "c4", "c3", "c2", "c1"}},
		{"since an end", ledger.Query{Since: now.Add(2*time.Hour + time.Microsecond)}, []string{"c5", "c4", "c3", "c2"}},
		{"waiting, soonest first", ledger.Query{Waiting: true}, []string{"c3", "a0", "b4"}},
		{"waiting in a batch, with a status", ledger.Query{Waiting: true, TaskName: "t1", ExecuteDate: "2026-11-11", Statuses: s(ledger.Pending, ledger.InDoubt)}, []string{"a0"}},
		{"waiting, by prefix", ledger.Query{Waiting: true, BizPrefix: "b"}, []string{"b4"}},
		{"waiting, a page", ledger.Query{Waiting: true, TaskName: "t1", Limit: 1}, []string{"a0"}},
		{"longest first", ledger.Query{Longest: true, Limit: 4}, []string{"c2", "a2", "c5", "c4"}},
		{"longest first, in a window", ledger.Query{Longest: true, TaskName: "t1", ExecuteDate: "2026-11-11", Before: f.id("a5"), Limit: 2}, []string{"a2", "a4"}},
		{"since and status", ledger.Query{Since: now.Add(time.Hour), Statuses: s(ledger.Failed)}, []string{"c3", "b3"}},
	} {
		f.equal(c.name, f.list(c.q), c.want)
	}
	f.view(func(r ledger.Reader) error {
		list, err := r.Batches("", "")
		var names []string
		for _, b := range list {
			names = append(names, b.ExecuteDate+" "+b.TaskName)
		}
		f.equal("batches", names, []string{"2026-11-11 t1", "2026-11-11 t2", "2026-11-12 t1"})
		return err
	})
}

// populate makes batches a, b and c with one record in each status, numbered
// by it. Batch b started an hour after a, and c an hour after b; what settled
// ended a minute after its start.
func (f *fixture) populate() {
	f.Helper()
	for i, b := range []ledger.Batch{f.batch("t1", "2026-11-11"), f.batch("t1", "2026-11-12"), f.batch("t2", "2026-11-11")} {
		name := string(rune('a' + i))
		e := f.plan(b, name+"0", name+"1", name+"2", name+"3", name+"4", name+"5")
		var changes []ledger.Change
		for s := ledger.Running; s <= ledger.Skipped; s++ {
			n := claimed(e[s], "run-"+name)
			n.StartedAt = now.Add(time.Duration(i) * time.Hour)
			n.Status = s
			if s.Settled() {
				n.EndedAt = n.StartedAt.Add(time.Minute)
			}
			changes = append(changes, ledger.Change{Old: e[s], New: n})
		}
		f.swap(changes...)
	}
}

// wait sets when a record is due, from now.
func (f *fixture) wait(id string, d time.Duration) {
	f.Helper()
	f.update(func(tx ledger.Tx) error {
		list, err := tx.List(ledger.Query{BizIDs: []string{id}})
		if err != nil {
			return err
		}
		n := list[0]
		n.NotBefore, n.Delay = now.Add(d), d
		return tx.Swap([]ledger.Change{{Old: list[0], New: n}})
	})
}

// longest looks at batches in the order given, and of one that is too large at
// its newest records.
func longest(f *fixture) {
	f.populate()
	f.last("a2", 3*time.Hour)
	f.last("c5", 2*time.Hour)
	var batches []ledger.Batch
	f.view(func(r ledger.Reader) (err error) {
		batches, err = r.Batches("", "")
		return err
	})
	for _, c := range []struct {
		name   string
		n      int
		budget int64
		want   []string
		looked int64
	}{
		{"of all", 3, 100, []string{"a2", "c5", "a5"}, 18},
		{"more than there are", 100, 6, []string{"a2", "a5", "a4", "a3"}, 6},
		{"of the newest of the first batch", 2, 3, []string{"a5", "a4"}, 3},
		{"and of the next one", 2, 8, []string{"a2", "c5"}, 8},
		{"of none", 2, 0, nil, 0},
	} {
		list, looked, err := ledger.New(f.s).Longest(context.Background(), batches, c.n, c.budget)
		f.check(err)
		var ids []string
		for _, e := range list {
			ids = append(ids, e.BizID)
		}
		f.equal(c.name, ids, c.want)
		f.equal(c.name+": looked at", looked, c.looked)
	}
}

// last sets how long the last attempt of a record took.
func (f *fixture) last(id string, d time.Duration) {
	f.Helper()
	old := f.get(f.id(id))
	n := old
	n.EndedAt = n.StartedAt.Add(d)
	f.swap(ledger.Change{Old: old, New: n})
}

func (f *fixture) id(bizID string) (id int64) {
	f.Helper()
	f.view(func(r ledger.Reader) error {
		list, err := r.List(ledger.Query{BizIDs: []string{bizID}})
		if len(list) == 1 {
			id = list[0].ID
		}
		return err
	})
	return id
}

// runs lists from three runs of which the second has ended.
func runs(f *fixture) {
	var rows []ledger.Run
	for _, id := range []string{"0192-aaa-111", "0192-aab-211", "0193-éa-121"} {
		r := ledger.Run{ID: id, BatchID: f.batch(task, date).ID, TaskName: task, ExecuteDate: date, StartedAt: now}
		if len(rows) == 1 {
			r.EndedAt = now.Add(time.Hour)
		}
		f.update(func(tx ledger.Tx) error {
			r.No = 0
			return tx.PutRun(&r)
		})
		rows = append(rows, r)
	}
	for _, c := range []struct {
		name string
		q    ledger.RunQuery
		want []int
	}{
		{"all, newest first", ledger.RunQuery{}, []int{2, 1, 0}},
		{"a page", ledger.RunQuery{Limit: 2}, []int{2, 1}},
		{"the next page", ledger.RunQuery{Before: rows[1].No, Limit: 2}, []int{0}},
		{"open ones, after a cursor", ledger.RunQuery{OpenOnly: true, Before: rows[2].No}, []int{0}},
		{"by the start of an id", ledger.RunQuery{IDPart: "0192-aa"}, []int{1, 0}},
		{"by the end of an id", ledger.RunQuery{IDPart: "11"}, []int{1, 0}},
		{"by its end, in characters", ledger.RunQuery{IDPart: "éa-121"}, []int{2}},
		{"not by its middle", ledger.RunQuery{IDPart: "aaa"}, nil},
		{"not by a pattern", ledger.RunQuery{IDPart: "%"}, nil},
		{"of no such task", ledger.RunQuery{TaskName: "other"}, nil},
	} {
		f.view(func(r ledger.Reader) error {
			list, err := r.Runs(c.q)
			var got []int
			for _, run := range list {
				got = append(got, slices.IndexFunc(rows, func(r ledger.Run) bool { return r.ID == run.ID }))
			}
			f.equal(c.name, got, c.want)
			return err
		})
	}
}
