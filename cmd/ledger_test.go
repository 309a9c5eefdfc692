package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/ledger/sqlite"
)

// seeded gives a world whose ledger holds n pending records of one batch;
// edit changes them, from the oldest on.
func seeded(t *testing.T, n int, edit func(i int, e *ledger.Entry), story ...ledger.Attempt) *world {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(configName, []byte("timezone: Asia/Shanghai\nnamespace: shop\ntasks: {t: {run: [\"true\"]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(context.Background(), defaultLedger, sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	in := make([]ledger.Input, n)
	for i := range in {
		in[i] = ledger.Input{BizID: fmt.Sprintf("u-%04d", i), Payload: []byte(`{"id":12345678901234567890}`)}
	}
	err = s.Update(context.Background(), func(tx ledger.Tx) error {
		b := ledger.Batch{TaskName: "t", ExecuteDate: "2026-11-28"}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		if _, err := tx.Insert(b.ID, in); err != nil {
			return err
		}
		old, err := tx.List(ledger.Query{Ascending: true})
		if err != nil {
			return err
		}
		var changes []ledger.Change
		for i, e := range old {
			edited := e
			edit(i, &edited)
			changes = append(changes, ledger.Change{Old: e, New: edited})
		}
		if err := tx.Swap(changes); err != nil {
			return err
		}
		for i := range story {
			story[i].RecordID = old[0].ID
		}
		return tx.AddAttempts(story)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return newWorld(t)
}

func unchanged(int, *ledger.Entry) {}

func (w *world) ids(t *testing.T, args ...string) (ids []string) {
	t.Helper()
	if code := w.invoke(append([]string{"ledger", "ls", "-o", "json"}, args...)...); code != exitOK {
		t.Fatalf("%v: exit %d: %s", args, code, w.err.String())
	}
	var rows []recordJSON
	if err := json.Unmarshal(w.out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		ids = append(ids, r.BizID)
	}
	return ids
}

var cursor = regexp.MustCompile(`--after (\d+)`)

func TestPagesOfAListingHoldEachRecordOnceNewestFirst(t *testing.T) {
	const n = 2345
	w := seeded(t, n, unchanged)
	var want []string
	for i := n - 1; i >= 0; i-- {
		want = append(want, fmt.Sprintf("u-%04d", i))
	}
	if d := cmp.Diff(want, w.ids(t, "--limit", "0")); d != "" {
		t.Errorf("all at once (-want +got):\n%s", d)
	}
	if w.err.Len() > 0 {
		t.Errorf("nothing was cut, and yet: %s", w.err.String())
	}
	for _, limit := range []string{"50", "1000", "1172", "2344", "2345"} {
		var got []string
		for args := []string{"--limit", limit}; ; {
			got = append(got, w.ids(t, args...)...)
			m := cursor.FindStringSubmatch(w.err.String())
			if m == nil {
				break
			}
			args = []string{"--limit", limit, "--after", m[1]}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("pages of %s (-want +got):\n%s", limit, d)
		}
	}
}

func TestAListingIsChosenByItsFlags(t *testing.T) {
	at := time.Date(2026, 11, 28, 18, 0, 0, 0, time.UTC) // 2:00 on the 29th in Shanghai
	w := seeded(t, 30, func(i int, e *ledger.Entry) {
		if i < 3 {
			e.Status, e.StartedAt, e.EndedAt = ledger.Failed, at, at
		}
		if i == 3 {
			e.Status, e.RunID = ledger.InDoubt, "r-1"
		}
	})
	for _, c := range []struct {
		args string
		want int
	}{
		{"", 30}, {"--limit 7", 7}, {"--task t", 30}, {"--task other", 0},
		{"--date 20261128", 30}, {"--date yesterday", 30}, {"--date today", 0},
		{"--status failed", 3}, {"--status failed,in_doubt", 4}, {"--status failed --status in_doubt", 4},
		{"--biz-id u-0007", 1}, {"--biz-id u-0007 --biz-id u-0008", 2}, {"--biz-id u-002*", 10}, {"--biz-id *", 30}, {"--biz-id u-002", 0},
		{"--run r-1", 1}, {"--since 3h", 3}, {"--since 1h", 0}, {"--since 2026-11-29", 3}, {"--since 2026-11-29T02:00:01+08:00", 0}, {"--since 2d", 3},
	} {
		if got := w.ids(t, strings.Fields(c.args)...); len(got) != c.want {
			t.Errorf("%q: %d records, want %d", c.args, len(got), c.want)
		}
	}
	for _, args := range []string{"--since soon", "--since -1h", "--after x", "--after 0", "--biz-id a --biz-id b*"} {
		if code := w.invoke(append([]string{"ledger", "ls"}, strings.Fields(args)...)...); code != exitUsage {
			t.Errorf("%q: exit %d, want %d", args, code, exitUsage)
		}
	}
}

func TestARecordHasTheNamesOfTheContract(t *testing.T) {
	exit := 4
	w := seeded(t, 1, func(_ int, e *ledger.Entry) {
		*e = ledger.Entry{
			ID: e.ID, BatchID: e.BatchID, Key: e.Key, Payload: e.Payload, Generation: e.Generation, Status: ledger.Failed,
			Attempts: 2, Fence: 5, ActFence: 5, RunID: "r-1", StartedAt: time.Date(2026, 11, 28, 18, 0, 0, 5_000_000, time.UTC),
			EndedAt: time.Date(2026, 11, 28, 18, 0, 1, 0, time.UTC), ExitCode: &exit, Error: "exit 4: <no> & \x1b[31m",
		}
	})
	if code := w.invoke("ledger", "ls", "-o", "jsonl"); code != exitOK {
		t.Fatal(w.err.String())
	}
	want := `{"task_name":"t","biz_id":"u-0000","execute_date":"2026-11-28","status":"failed","detail":"","result":"",` +
		`"attempts":2,"generation":1,"fence":5,"run_id":"r-1","started_at":"2026-11-28T18:00:00.005Z","ended_at":"2026-11-28T18:00:01.000Z",` +
		`"not_before":null,"exit_code":4,"error":"exit 4: <no> & \u001b[31m","payload":{"id":12345678901234567890},"idempotency_key":"` +
		ledger.IdempotencyKey("shop", ledger.Key{TaskName: "t", BizID: "u-0000", ExecuteDate: "2026-11-28"}, 1) + "\"}\n"
	if d := cmp.Diff(want, w.out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if w.invoke("ledger", "ls"); !strings.Contains(w.out.String(), "2026-11-29T02:00:01+08:00") || strings.Contains(w.out.String(), "\x1b") {
		t.Errorf("a table is local and escaped: %s", w.out.String())
	}
}

func TestShowTellsTheWholeStory(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 28, 18, 0, s, 0, time.UTC) }
	w := seeded(t, 1, func(_ int, e *ledger.Entry) {
		e.Status, e.Detail, e.Attempts, e.Fence, e.ActFence, e.RunID = ledger.Done, ledger.DetailApplied, 2, 2, 2, "r-2"
		e.StartedAt, e.EndedAt, e.Result = at(10), at(11), "voucher 7"
	}, ledger.Attempt{
		Fence: 1, Phase: ledger.Act, Generation: 1, Number: 1, RunID: "r-1", StartedAt: at(0), EndedAt: at(1),
		Status: ledger.Pending, Error: "exit 1", Output: "line one\nline \x1btwo\n",
	})
	if code := w.invoke("ledger", "show", "t", "u-0000", "--date", "2026-11-28", "--captured"); code != exitOK {
		t.Fatal(w.err.String())
	}
	for _, want := range []string{
		"execute date     2026-11-28 (Asia/Shanghai)\n", "status           done (applied)\n", "result           voucher 7\n",
		"idempotency key  r1-", "payload          {\"id\":12345678901234567890}\n",
		"2026-11-29T02:00:00+08:00  act    1       pending         -     exit 1  1s    r-1\n",
		"2026-11-29T02:00:10+08:00  act    2       done (applied)  -     -       1s    r-2\n",
		"output of act 1, fence 1:\nline one\nline \\x1btwo\n",
	} {
		if !strings.Contains(w.out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, w.out.String())
		}
	}
	var got storyJSON
	for _, args := range [][]string{{}, {"--captured"}} {
		w.invoke(append([]string{"ledger", "show", "t", "u-0000", "--date", "2026-11-28", "-o", "json"}, args...)...)
		if err := json.Unmarshal(w.out.Bytes(), &got); err != nil || len(got.Story) != 2 || got.Result != "voucher 7" {
			t.Fatalf("%v: %s", err, w.out.String())
		}
		if shown := got.Story[0].Output != nil; shown != (len(args) > 0) {
			t.Errorf("%v: output shown: %v", args, shown)
		}
	}
	if code := w.invoke("ledger", "show", "t", "nobody", "--date", "2026-11-28"); code != exitUsage || !strings.Contains(w.err.String(), "hint: ") {
		t.Errorf("unknown record: exit %d, %s", code, w.err.String())
	}
}
