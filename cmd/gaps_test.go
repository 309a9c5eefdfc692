package cmd

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"runner/ledger"
	"runner/tasks"
)

// runIn runs a command line in a folder of its own.
func (w *world) runIn(t *testing.T, dir, args string) int {
	t.Helper()
	w.out.Reset()
	w.err.Reset()
	w.args = append(strings.Fields(args), "--config", filepath.Join(dir, configName))
	return run(context.Background(), w.env)
}

// Case 67: on the day on which the clock is put on, cron doesn't start what
// it has at 02:30; where it is put back, it starts it twice. gaps shows the
// lost date, catch-up runs it, and each date once.
func TestADateThatCronLostToTheClockIsFoundAndRunOnce(t *testing.T) {
	for _, c := range []struct {
		zone, at   string
		lost, next string
	}{
		{"America/New_York", "30 2", "2024-03-10", "2024-03-11"},
		{"Australia/Lord_Howe", "15 2", "2024-10-06", "2024-10-07"},
		{"America/Sao_Paulo", "0 0", "2018-11-04", "2018-11-05"},
	} {
		t.Run(strings.ReplaceAll(c.zone, "/", "_"), func(t *testing.T) {
			dir, w := t.TempDir(), newWorld(t)
			text := "timezone: " + c.zone + "\ntasks:\n  t:\n    shell: echo $RUNNER_EXECUTE_DATE >>dates\n    schedule: " + c.at + " * * *\n"
			if err := os.WriteFile(filepath.Join(dir, configName), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			loc, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			next, err := time.ParseInLocation(time.DateOnly, c.next, loc)
			if err != nil {
				t.Fatal(err)
			}
			w.now = func() time.Time { return next.Add(6 * time.Hour) }
			before := next.AddDate(0, 0, -2).Format(time.DateOnly)
			for _, date := range []string{before, c.next} {
				if code := w.runIn(t, dir, "run t --date "+date); code != 0 {
					t.Fatalf("run %s: exit %d: %s", date, code, &w.err)
				}
			}
			if code := w.runIn(t, dir, "gaps t -o csv"); code != 1 || strings.Count(w.out.String(), "\n") != 2 || !strings.Contains(w.out.String(), "t,"+c.lost+","+c.zone+",missing,") {
				t.Fatalf("gaps: exit %d: %s%s", code, &w.out, &w.err)
			}
			for range 2 {
				if code := w.runIn(t, dir, "run t --catch-up"); code != 0 {
					t.Fatalf("catch-up: exit %d: %s", code, &w.err)
				}
			}
			got, err := os.ReadFile(filepath.Join(dir, "dates"))
			if want := before + "\n" + c.next + "\n" + c.lost + "\n"; string(got) != want || err != nil {
				t.Errorf("dates: %s, %v, want %s", got, err, want)
			}
			if code := w.runIn(t, dir, "gaps t"); code != 0 {
				t.Errorf("gaps: exit %d: %s", code, &w.out)
			}
		})
	}
}

func gapWorld(t testing.TB, keys string) expecting {
	t.Helper()
	path := filepath.Join(t.TempDir(), configName)
	if err := os.WriteFile(path, []byte("tasks: {t: {go: noop"+keys+"}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := tasks.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	where := located{config: c, zone: time.UTC, zoneName: "UTC"}
	return where.expecting("t", time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)) // a Saturday
}

func batchesOn(dates ...string) (list []ledger.Batch) {
	for _, d := range dates {
		list = append(list, ledger.Batch{TaskName: "t", ExecuteDate: d})
	}
	return list
}

func datesOf(due []tasks.Due) (dates []string) {
	for _, d := range due {
		dates = append(dates, d.Date)
	}
	return dates
}

func TestWhatWasMissed(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		batches    []ledger.Batch
		from, to   string
		want       []string
	}{
		{"since its first date", ", schedule: 0 2 * * *", batchesOn("2026-11-27", "2026-11-25"), "", "", []string{"2026-11-26", "2026-11-28"}},
		{"since it is said", ", schedule: 0 2 * * *, schedule_since: 2026-11-26", batchesOn("2026-11-28"), "", "", []string{"2026-11-26", "2026-11-27"}},
		{"since it is said, though it ran before", ", schedule: 0 2 * * *, schedule_since: 2026-11-27", batchesOn("2026-01-01"), "", "", []string{"2026-11-27", "2026-11-28"}},
		{"since it is asked for", ", schedule: 0 2 * * *", batchesOn("2026-11-28"), "2026-11-27", "", []string{"2026-11-27"}},
		{"until it is asked for", ", schedule: 0 2 * * *", batchesOn("2026-11-24"), "", "2026-11-26", []string{"2026-11-25", "2026-11-26"}},
		{"not due yet", ", schedule: 0 13 * * *", batchesOn("2026-11-26"), "", "2027-01-01", []string{"2026-11-27"}},
		{"never ran", ", schedule: 0 2 * * MON-FRI", nil, "", "", []string{"2026-11-27"}},
		{"never ran, and not asked for", ", schedule: 0 2 * * MON-FRI", nil, "", "2026-11-26", nil},
		{"no schedule: days that are over", "", batchesOn("2026-11-25"), "", "", []string{"2026-11-26", "2026-11-27"}},
		{"no schedule: today is asked for", "", batchesOn("2026-11-27"), "", "2026-12-24", []string{"2026-11-28"}},
		{"no schedule, no batch", "", nil, "", "", nil},
		{"no schedule, no batch, asked for", "", nil, "2026-11-26", "", []string{"2026-11-26", "2026-11-27"}},
	} {
		due, err := gapWorld(t, c.keys).missed(c.batches, c.from, c.to)
		if d := cmp.Diff(c.want, datesOf(due)); d != "" || err != nil {
			t.Errorf("%s: %s %v", c.name, d, err)
		}
	}
}

// What ran and what was missed is all that was due, and nothing is both.
func TestADueDateEitherRanOrWasMissed(t *testing.T) {
	e := gapWorld(t, ", schedule: 0 2 * * 1-6, schedule_since: 2026-09-01")
	due, err := e.due("2026-09-01", "")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		ran := rapid.SliceOfDistinct(rapid.SampledFrom(datesOf(due)), func(d string) string { return d }).Draw(t, "ran")
		missed, err := e.missed(batchesOn(ran...), "", "")
		if err != nil {
			t.Fatal(err)
		}
		both := append(datesOf(missed), ran...)
		slices.Sort(both)
		if d := cmp.Diff(datesOf(due), both); d != "" {
			t.Fatal(d)
		}
	})
}

func TestWhatARunCanDoForABatch(t *testing.T) {
	count := func(s ledger.Status) (c ledger.Counts) {
		c[s] = 1
		return c
	}
	for _, c := range []struct {
		name   string
		batch  ledger.Batch
		policy ledger.Policy
		want   bool
	}{
		{"complete", ledger.Batch{Counts: count(ledger.Done)}, ledger.Policy{}, false},
		{"its plan was cut off", ledger.Batch{OpenPlanRun: "r"}, ledger.Policy{}, true},
		{"pending", ledger.Batch{Counts: count(ledger.Pending)}, ledger.Policy{}, true},
		{"running in a dead run", ledger.Batch{Counts: count(ledger.Running)}, ledger.Policy{}, true},
		{"failed", ledger.Batch{Counts: count(ledger.Failed)}, ledger.Policy{Idempotent: true, Check: true}, false},
		{"in doubt, held", ledger.Batch{Counts: count(ledger.InDoubt)}, ledger.Policy{}, false},
		{"in doubt, with a check", ledger.Batch{Counts: count(ledger.InDoubt)}, ledger.Policy{Check: true}, true},
		{"in doubt, safe to repeat", ledger.Batch{Counts: count(ledger.InDoubt)}, ledger.Policy{Idempotent: true}, true},
	} {
		if got := runnable(c.batch, c.policy); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
