package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"runner/ledger"

	"github.com/google/go-cmp/cmp"
)

// TestListsDoNotScanABatch asks the planner, with the statistics of a fresh
// file and with those of a large one.
func TestListsDoNotScanABatch(t *testing.T) {
	s := openIn(t, t.TempDir())
	fillBatches(t, s)
	batch := ledger.Query{TaskName: "t0", ExecuteDate: "2026-11-11", Limit: 50}
	failed := batch
	failed.Statuses = []ledger.Status{ledger.Failed}
	cursor := batch
	cursor.Before = 100
	pending := batch
	pending.Statuses, pending.Ascending = []ledger.Status{ledger.Pending}, true
	waiting := batch
	waiting.Statuses, waiting.Waiting = []ledger.Status{ledger.Pending, ledger.InDoubt}, true
	ids := batch
	ids.BizIDs = []string{"a"}
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			s.ask(t, s.writer, "ANALYZE")
		}
		for name, c := range map[string]struct {
			q     ledger.Query
			steps []string
		}{
			"newest 50":   {batch, []string{"SEARCH record USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"}},
			"next page":   {cursor, []string{"SEARCH record USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"}},
			"pending":     {pending, []string{"SEARCH record USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"}},
			"failed":      {failed, []string{"SEARCH record USING COVERING INDEX record_open (batch_id=? AND status=? AND id>? AND id<?)"}},
			"waiting":     {waiting, []string{"SEARCH record USING INDEX record_waiting (batch_id=? AND not_before>?)"}},
			"all, newest": {ledger.Query{Limit: 50}, []string{"SEARCH record USING INTEGER PRIMARY KEY (rowid>?)"}},
		} {
			if got := s.plan(t, c.q); !slices.Equal(got, c.steps) {
				t.Errorf("%s (analyzed: %v): %q", name, analyzed, got)
			}
		}
		noScan(t, s.plan(t, ids))
		everywhere := ledger.Query{Statuses: []ledger.Status{ledger.InDoubt}, Limit: 50}
		if got := strings.Join(s.plan(t, everywhere), "; "); !strings.Contains(got, "record_open (batch_id=? AND status=?") {
			t.Errorf("in doubt, of all batches (analyzed: %v): %s", analyzed, got)
		}
		find := s.explain(t, findSQL, int64(1), `{"a":null}`)
		noScan(t, find)
		if got := strings.Join(find, "; "); !strings.Contains(got, "(batch_id=? AND biz_id=?)") {
			t.Errorf("find: %s", got)
		}
		scan := strings.Join(s.explain(t, scanSQL, int64(1), "a", "b", int64(9)), "; ")
		if !strings.Contains(scan, "(batch_id=? AND biz_id>? AND biz_id<?)") || strings.Contains(scan, "TEMP B-TREE") {
			t.Errorf("scan: %s", scan)
		}
		noScan(t, s.explain(t, "SELECT r.status FROM json_each($1) j CROSS JOIN record r ON r.id = j.value", "[1]"))
	}
}

func noScan(t *testing.T, plan []string) {
	t.Helper()
	for _, step := range plan {
		if strings.HasPrefix(step, "SCAN r") || strings.Contains(step, "SCAN record") {
			t.Errorf("scans: %q", plan)
		}
	}
}

// fillBatches makes 40 batches of 100 records, two of which failed in each.
func fillBatches(t *testing.T, s *Store) {
	t.Helper()
	for i := range 40 {
		update(t, s, func(tx ledger.Tx) error {
			b := ledger.Batch{TaskName: fmt.Sprint("t", i), ExecuteDate: "2026-11-11"}
			if err := tx.PutBatch(&b); err != nil {
				return err
			}
			var in []ledger.Input
			for n := range 100 {
				in = append(in, ledger.Input{BizID: fmt.Sprint(n)})
			}
			if _, err := tx.Insert(b.ID, in); err != nil {
				return err
			}
			list, err := tx.List(ledger.Query{TaskName: b.TaskName, Limit: 2})
			if err != nil {
				return err
			}
			for _, e := range list {
				n := e
				n.Status = ledger.Failed
				if err := tx.Swap([]ledger.Change{{Old: e, New: n}}); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func (s *Store) plan(t *testing.T, q ledger.Query) (steps []string) {
	t.Helper()
	c, err := s.readers.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	query, args, ok, err := (&reader{c: c, ctx: ctx}).listSQL(q)
	s.readers.Put(c)
	if err != nil || !ok {
		t.Fatalf("%v %v", ok, err)
	}
	for _, row := range s.ask(t, s.writer, "EXPLAIN QUERY PLAN "+query, args...) {
		steps = append(steps, str(row[3]))
	}
	return steps
}

func (s *Store) explain(t *testing.T, query string, args ...driver.Value) (steps []string) {
	t.Helper()
	for _, row := range s.ask(t, s.writer, "EXPLAIN QUERY PLAN "+query, args...) {
		steps = append(steps, str(row[3]))
	}
	return steps
}

func TestTheViewSpeaksToPeople(t *testing.T) {
	s := openIn(t, t.TempDir())
	at := time.Date(2026, 11, 29, 8, 30, 59, 999_900_000, time.UTC)
	update(t, s, func(tx ledger.Tx) error {
		b := ledger.Batch{TaskName: "t", ExecuteDate: "2026-11-11"}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		if _, err := tx.Insert(b.ID, []ledger.Input{{BizID: "a", Payload: []byte(`{"n":1}`)}, {BizID: "b"}}); err != nil {
			return err
		}
		list, err := tx.List(ledger.Query{BizIDs: []string{"a"}})
		if err != nil {
			return err
		}
		n, code := list[0], 3
		n.Status, n.Phase, n.Detail, n.Result, n.Attempts, n.Fence, n.RunID = ledger.Running, ledger.Check, "d", "r", 2, 5, "run-1"
		n.StartedAt, n.EndedAt, n.NotBefore, n.ExitCode, n.Error = at, at.Add(time.Second), at.Add(time.Hour), &code, "boom"
		return tx.Swap([]ledger.Change{{Old: list[0], New: n}})
	})
	got := s.ask(t, s.readers, `SELECT task_name, biz_id, execute_date, status, phase, detail, result, attempts, generation,
		fence, run_id, started_at, ended_at, not_before, exit_code, error, payload FROM ledger ORDER BY biz_id`)
	want := [][]driver.Value{
		{"t", "a", "2026-11-11", "running", "check", "d", "r", int64(2), int64(1), int64(5), "run-1", "2026-11-29T08:30:59.999Z",
			"2026-11-29T08:31:00.999Z", "2026-11-29T09:30:59.999Z", int64(3), "boom", `{"n":1}`},
		{"t", "b", "2026-11-11", "pending", nil, nil, nil, int64(0), int64(1), int64(0), nil, nil, nil, nil, nil, nil, nil},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, status := range ledger.Statuses {
		s.ask(t, s.writer, "UPDATE record SET status = $1 WHERE biz_id = 'b'", int64(status))
		if got := s.ask(t, s.writer, "SELECT status FROM ledger WHERE biz_id = 'b'"); got[0][0] != status.String() {
			t.Errorf("status %d is %v in the view, want %s", status, got[0][0], status)
		}
	}
}

// TestADoneRecordIsSmall keeps the size of a ledger from creeping up. It
// plans first and claims in order afterwards, as a run does.
func TestADoneRecordIsSmall(t *testing.T) {
	s := openIn(t, t.TempDir())
	const n = 5_000
	update(t, s, func(tx ledger.Tx) error {
		b := ledger.Batch{TaskName: "t", ExecuteDate: "2026-11-11"}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		in := make([]ledger.Input, n)
		for i := range in {
			in[i].BizID = fmt.Sprintf("user-%011d", i)
		}
		_, err := tx.Insert(b.ID, in)
		return err
	})
	each := func() int64 {
		return s.ask(t, s.writer, "PRAGMA page_count")[0][0].(int64) * 4096 / n
	}
	pending := each()
	at := time.Date(2026, 11, 29, 8, 30, 15, 123456000, time.UTC)
	q := ledger.Query{Statuses: []ledger.Status{ledger.Pending}, Ascending: true, Limit: 500}
	for from := 0; from < n; from += q.Limit {
		update(t, s, func(tx ledger.Tx) error {
			list, err := tx.List(q)
			if err != nil {
				return err
			}
			var changes []ledger.Change
			for _, e := range list {
				r := e
				r.Status, r.Fence, r.RunID, r.StartedAt = ledger.Running, 1, "run-1", at
				d := r
				d.Status, d.Attempts, d.ActFence, d.Detail, d.EndedAt = ledger.Done, 1, 1, ledger.DetailApplied, at.Add(time.Second)
				changes = append(changes, ledger.Change{Old: e, New: r}, ledger.Change{Old: r, New: d})
			}
			return tx.Swap(changes)
		})
	}
	done := each()
	t.Logf("a pending record takes %d bytes, a done one %d", pending, done)
	if done > 120 {
		t.Errorf("a done record takes %d bytes, want at most 120", done)
	}
}
