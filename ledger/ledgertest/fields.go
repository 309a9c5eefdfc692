package ledgertest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"runner/ledger"
)

// fill sets every field of what p points to, but those named, to a value that
// is not zero and not that of another field. A field that is added to a type
// later is filled, and so tested, by itself.
func fill(p any, except ...string) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if slices.Contains(except, name) {
			continue
		}
		fillField(v.Field(i), name, int64(i+1))
		if v.Field(i).IsZero() {
			panic("ledgertest: field " + name + " of " + v.Type().Name() + " is still zero: teach fill its type")
		}
	}
}

func fillField(v reflect.Value, name string, n int64) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = now.Add(time.Duration(n)*time.Hour + time.Duration(n)*time.Microsecond)
	case *time.Duration:
		*p = time.Duration(n)*time.Hour + time.Duration(n) // to the nanosecond
	case *ledger.Status:
		*p = ledger.InDoubt
	case *ledger.Phase:
		*p = ledger.Compensate
	case *ledger.Counts:
		for i := range p {
			p[i] = n*10 + int64(i)
		}
	case *[]byte:
		*p = []byte(fmt.Sprintf(`{ "%s":%d}`, name, n))
	case **int:
		i := int(-n)
		*p = &i
	case *string:
		*p = fmt.Sprintf("%s %d 'é\"\n\x00\\", name, n)
	case *bool:
		*p = true
	case *int:
		*p = int(n) + 1000
	case *int64:
		*p = n + 1<<40
	}
}

func recordFields(f *fixture) {
	e := f.plan(f.batch(task, date), "a", "b")
	full := e[0]
	fill(&full, "Key", "ID", "BatchID")
	f.swap(ledger.Change{Old: e[0], New: full})
	f.equal("a record with every field set", f.get(e[0].ID), full)

	// Neither -1 nor 0 is the same as none, and a time is no zone.
	zero := 0
	odd := e[1]
	odd.ExitCode, odd.Payload, odd.Generation = &zero, []byte{}, 0
	odd.StartedAt = time.Unix(0, 0).UTC()
	odd.EndedAt = time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	in := odd
	in.StartedAt = odd.StartedAt.In(time.FixedZone("", 8*3600))
	f.swap(ledger.Change{Old: e[1], New: in})
	f.equal("a record with odd values", f.get(e[1].ID), odd)
}

func attemptFields(f *fixture) {
	e := f.plan(f.batch(task, date), "a")[0]
	var full, bare ledger.Attempt
	fill(&full, "RecordID")
	full.RecordID = e.ID
	bare = ledger.Attempt{RecordID: e.ID, Fence: full.Fence + 1}
	f.update(func(tx ledger.Tx) error { return tx.AddAttempts([]ledger.Attempt{bare, full}) })
	f.equal("a story", f.story(e.ID), []ledger.Attempt{full, bare})
	f.equal("the story of another record", f.story(e.ID+1), []ledger.Attempt(nil))
}

func (f *fixture) story(id int64) (list []ledger.Attempt) {
	f.Helper()
	f.view(func(r ledger.Reader) (err error) {
		list, err = r.Attempts(id)
		return err
	})
	if len(list) == 0 {
		return nil
	}
	return list
}

func batchFields(f *fixture) {
	var full ledger.Batch
	fill(&full, "ID", "Counts", "FirstID", "LastID")
	put := func(b ledger.Batch) int64 {
		f.Helper()
		f.update(func(tx ledger.Tx) error { return tx.PutBatch(&b) })
		return b.ID
	}
	read := func() (b ledger.Batch) {
		f.Helper()
		f.view(func(r ledger.Reader) (err error) {
			b, err = r.Batch(full.TaskName, full.ExecuteDate)
			return err
		})
		return b
	}
	if full.ID = put(full); full.ID == 0 {
		f.Fatal("the batch has no number")
	}
	f.equal("a new batch", read(), full)
	sealed := full.SealedAt
	full.SealedAt = time.Time{} // else nothing could be planned
	put(full)

	f.equal("the number of a batch that exists", put(ledger.Batch{TaskName: full.TaskName, ExecuteDate: full.ExecuteDate}), full.ID)

	e := f.plan(full, "a", "b")
	full.Counts, full.FirstID, full.LastID = ledger.Counts{ledger.Pending: 2}, e[0].ID, e[1].ID
	wrong := full
	wrong.Counts, wrong.FirstID, wrong.LastID = ledger.Counts{9, 9}, 77, 78 // the store keeps these itself
	wrong.HaltReason, full.HaltReason = "another", "another"
	wrong.PausedUntil, full.PausedUntil = time.Time{}, time.Time{}
	wrong.SealedAt, full.SealedAt = sealed, sealed
	put(wrong)
	f.equal("a changed batch", read(), full)
}

func runFields(f *fixture) {
	var full ledger.Run
	fill(&full, "No", "Lease", "LeaseUntil", "Shard")
	put := func(r *ledger.Run) {
		f.Helper()
		f.update(func(tx ledger.Tx) error { return tx.PutRun(r) })
	}
	put(&full)
	second := ledger.Run{ID: "second", TaskName: "t", ExecuteDate: date}
	put(&second)
	if full.No == 0 || second.No <= full.No {
		f.Fatalf("runs got the numbers %d and %d", full.No, second.No)
	}
	runs := func(q ledger.RunQuery) (list []ledger.Run) {
		f.Helper()
		f.view(func(r ledger.Reader) (err error) {
			list, err = r.Runs(q)
			return err
		})
		return list
	}
	f.equal("runs", runs(ledger.RunQuery{}), []ledger.Run{second, full})
	f.equal("a run by its id", runs(ledger.RunQuery{ID: full.ID}), []ledger.Run{full})
	f.equal("runs of a task", runs(ledger.RunQuery{TaskName: "t"}), []ledger.Run{second})
	f.equal("runs of a date", runs(ledger.RunQuery{ExecuteDate: full.ExecuteDate}), []ledger.Run{full})
	f.equal("runs that have not ended", runs(ledger.RunQuery{OpenOnly: true}), []ledger.Run{second})
	f.equal("the newest run", runs(ledger.RunQuery{Limit: 1}), []ledger.Run{second})

	no := second.No
	fill(&second, "No", "ID", "Lease", "LeaseUntil", "Shard")
	second.Host = "elsewhere"
	put(&second)
	f.equal("the number of a changed run", second.No, no)
	f.equal("a changed run", runs(ledger.RunQuery{ID: "second"}), []ledger.Run{second})
	f.equal("runs that have not ended", len(runs(ledger.RunQuery{OpenOnly: true})), 0)
}
