package ledgertest

import (
	"time"

	"runner/ledger"
)

func storyIsFinal(f *fixture) {
	e := f.plan(f.batch(task, date), "a")[0]
	add := func(a ledger.Attempt) {
		f.Helper()
		f.update(func(tx ledger.Tx) error { return tx.AddAttempts([]ledger.Attempt{a}) })
	}
	first := ledger.Attempt{RecordID: e.ID, Fence: 1, Number: 1, RunID: "run-1", StartedAt: now, Status: ledger.InDoubt, Error: "timed out"}
	add(first)

	var other ledger.Attempt // differs in everything
	fill(&other, "RecordID", "Fence")
	other.RecordID, other.Fence = e.ID, 1
	noLate := other
	noLate.Late, noLate.LateDetail, noLate.LateAt = "", "", time.Time{}
	add(noLate)
	f.equal("a line that was written twice", f.story(e.ID), []ledger.Attempt{first})

	add(other)
	first.Late, first.LateDetail, first.LateAt = other.Late, other.LateDetail, other.LateAt
	f.equal("a line with a late outcome", f.story(e.ID), []ledger.Attempt{first})

	other.Late, other.LateDetail, other.LateAt = "failed", "again", now
	add(other)
	f.equal("a line with a second late outcome", f.story(e.ID), []ledger.Attempt{first})
}

func namedRuns(f *fixture) {
	e := f.plan(f.batch(task, date), "a")[0]
	c := claimed(e, "run-1")
	f.swap(ledger.Change{Old: e, New: c})
	f.update(func(tx ledger.Tx) error {
		return tx.AddAttempts([]ledger.Attempt{{RecordID: e.ID, Fence: 1, RunID: "run-2"}})
	})
	f.equal("the record", f.get(e.ID), c)
	f.equal("its story", f.story(e.ID), []ledger.Attempt{{RecordID: e.ID, Fence: 1, RunID: "run-2"}})
	f.view(func(r ledger.Reader) error {
		list, err := r.Runs(ledger.RunQuery{})
		f.equal("runs", len(list), 0)
		return err
	})
	run := ledger.Run{ID: "run-1", TaskName: task, ExecuteDate: date, StartedAt: now}
	f.update(func(tx ledger.Tx) error { return tx.PutRun(&run) })
	f.view(func(r ledger.Reader) error {
		list, err := r.Runs(ledger.RunQuery{ID: "run-1"})
		f.equal("the run", list, []ledger.Run{run})
		return err
	})
	f.equal("records of the run", f.list(ledger.Query{RunID: "run-1"}), []string{"a"})
}
