package cmd

import (
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"
	"time"

	"runner/ledger"
)

// diagnose runs doctor and compares its exit code and its lines.
func (w *world) diagnose(t *testing.T, want int, lines ...string) {
	t.Helper()
	if code := w.invoke("doctor", "-o", "csv"); code != want {
		t.Errorf("exit %d, want %d:\n%s%s", code, want, w.out.String(), w.err.String())
	}
	for _, l := range lines {
		if !strings.Contains(w.out.String(), "\n"+l) {
			t.Errorf("%q isn't said:\n%s", l, w.out.String())
		}
	}
}

// Case 35: 5,000 rows running, the oldest for 91 days, and nobody noticed.
func TestTheDoctorFindsRecordsThatRanForMonths(t *testing.T) {
	w := seeded(t, 5000, func(_ int, e *ledger.Entry) { e.Status, e.Fence, e.RunID = ledger.Running, 1, "r-1" })
	w.diagnose(t, exitOK, "batches,warn,\"t 2026-11-28: 5000 running, and nobody works on them\"") // it isn't known since when
	put(t, func(_ ledger.Tx, b *ledger.Batch) error {
		b.CreatedAt = w.now().AddDate(0, 0, -91)
		return nil
	})
	w.diagnose(t, exitFailed,
		"batches,bad,\"t 2026-11-28: 5000 running, and nobody works on them, the oldest for 91d0h\",runner run t --date 2026-11-28\n")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	put(t, func(tx ledger.Tx, b *ledger.Batch) error {
		return tx.PutRun(&ledger.Run{ID: "r-1", Host: host, BatchID: b.ID, TaskName: b.TaskName, ExecuteDate: b.ExecuteDate,
			File: "/gone", Definition: []byte("{}"), StartedAt: b.CreatedAt})
	})
	w.diagnose(t, exitFailed, "dead runs,bad,\"1 dead run, holding 5000 records; the oldest started 91d0h ago\"", "survivors,ok,none")
}

func TestTheDoctorTellsOfWhatNeedsAPerson(t *testing.T) {
	cases := []struct {
		name string
		edit func(*ledger.Batch, time.Time)
		code int
		line string
	}{
		{"all is new", func(b *ledger.Batch, now time.Time) { b.CreatedAt = now }, exitOK, "clock,ok,"},
		{"clock set back", func(b *ledger.Batch, now time.Time) { b.CreatedAt = now.Add(2 * time.Minute) }, exitFailed, "clock,bad,"},
		{"clock a little off", func(b *ledger.Batch, now time.Time) { b.CreatedAt = now.Add(50 * time.Second) }, exitOK, "clock,ok,"},
		{"halted", func(b *ledger.Batch, now time.Time) { b.HaltedAt, b.HaltReason = now.Add(-time.Hour), "too many" }, exitFailed,
			"batches,bad,t 2026-11-28: halted 1h0m ago: too many,"},
		{"paused", func(b *ledger.Batch, now time.Time) { b.PausedUntil = now.Add(time.Hour) }, exitOK, "batches,warn,\"t 2026-11-28: paused until "},
		{"plan cut off", func(b *ledger.Batch, now time.Time) { b.CreatedAt, b.OpenPlanRun = now.Add(-25*time.Hour), "r-9" }, exitFailed,
			"batches,bad,\"t 2026-11-28: its plan was cut off with run r-9"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := seeded(t, 1, func(int, *ledger.Entry) {})
			put(t, func(_ ledger.Tx, b *ledger.Batch) error {
				c.edit(b, w.now())
				return nil
			})
			w.diagnose(t, c.code, c.line)
		})
	}
}

func TestTheDoctorNamesTheOldestDoubt(t *testing.T) {
	w := seeded(t, 3, func(i int, e *ledger.Entry) {
		e.Status, e.Fence, e.StartedAt = ledger.InDoubt, 1, time.Date(2026, 11, 28, 20-i, 0, 0, 0, time.UTC)
	})
	w.diagnose(t, exitInDoubt, "in doubt,bad,\"3 records; the oldest is t u-0002 of 2026-11-28, started 2h30m ago\"")
	if code := w.invoke("doctor", "t", "--fast"); code != exitInDoubt {
		t.Errorf("exit %d with the task named", code)
	}
}

func TestTheDoctorNamesRunFilesOfAnotherLedger(t *testing.T) {
	w := seeded(t, 1, func(_ int, e *ledger.Entry) { e.Status = ledger.Done })
	if err := os.MkdirAll(defaultLedger+".runs", 0o700); err != nil {
		t.Fatal(err)
	}
	const head = `{"ledger":"other","run":"r-7"}`
	file := defaultLedger + ".runs/r-7"
	if err := os.WriteFile(file, fmt.Appendf(nil, "#%08x %s\n", crc32.Checksum([]byte(head), crc32.MakeTable(crc32.Castagnoli)), head), 0o600); err != nil {
		t.Fatal(err)
	}
	w.diagnose(t, exitOK, "run files,warn,")
	if _, err := os.Stat(file); err != nil {
		t.Errorf("it was changed: %v", err)
	}
}
