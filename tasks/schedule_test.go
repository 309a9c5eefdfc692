package tasks

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func scheduled(t testing.TB, keys string) *Schedule {
	t.Helper()
	return mustLoad(t, "tasks: {a: {go: noop, "+keys+"}}").Tasks[0].Schedule
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// Zones in which the clock is put on and back, by an hour, by half an hour,
// and at midnight.
var dstZones = []string{"America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "UTC", "Asia/Shanghai"}

func TestADailyScheduleHasEachDateOnceWhateverTheClockDoes(t *testing.T) {
	for _, name := range dstZones {
		loc := zone(t, name)
		for _, at := range []string{"0 0", "30 0", "0 1", "30 1", "0 2", "15 2", "30 2", "0 3", "59 23"} {
			s := scheduled(t, fmt.Sprintf("schedule: %s * * *", at))
			list, err := s.Due("2018-01-01", "2019-12-31", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), loc)
			if err != nil {
				t.Fatal(err)
			}
			day := time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC)
			for _, d := range list {
				if d.Date != day.Format(time.DateOnly) {
					t.Fatalf("%s %s: got %s, want %s", name, at, d.Date, day.Format(time.DateOnly))
				}
				if off := d.At.Sub(day).Abs(); off > 48*time.Hour {
					t.Fatalf("%s %s: %s is due at %s", name, at, d.Date, d.At)
				}
				day = day.AddDate(0, 0, 1)
			}
			if want := 2 * 365; len(list) != want {
				t.Fatalf("%s %s: %d dates, want %d", name, at, len(list), want)
			}
		}
	}
}

// Case 67: where the clock is put forward over its time, cron doesn't start
// the task; the date is due all the same, at what the clock shows after it.
func TestATimeThatTheClockLeavesOutIsDueAllTheSame(t *testing.T) {
	for _, c := range []struct{ zone, at, date, due string }{
		{"America/New_York", "30 2", "2024-03-10", "2024-03-10T03:30:00-04:00"},
		{"America/New_York", "30 1", "2024-11-03", "2024-11-03T01:30:00-04:00"}, // there twice: the first
		{"Australia/Lord_Howe", "15 2", "2024-10-06", "2024-10-06T02:45:00+11:00"},
		{"America/Sao_Paulo", "0 0", "2018-11-04", "2018-11-04T01:00:00-02:00"},
	} {
		loc := zone(t, c.zone)
		s := scheduled(t, fmt.Sprintf("schedule: %s * * *", c.at))
		due, err := time.Parse(time.RFC3339, c.due)
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Due(c.date, c.date, due.Add(-2*time.Hour), loc)
		if err != nil || len(before) != 0 {
			t.Errorf("%s %s: due two hours before: %v, %v", c.zone, c.date, before, err)
		}
		got, err := s.Due(c.date, c.date, due.Add(time.Hour), loc)
		if err != nil || len(got) != 1 || got[0].Date != c.date || !got[0].At.Equal(due) {
			t.Errorf("%s %s: got %v, %v, want %s", c.zone, c.date, got, err, c.due)
		}
	}
}

func TestSchedulesAndTheirDates(t *testing.T) {
	now := time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC) // a Saturday
	for _, c := range []struct {
		keys, from, to string
		want           []string
	}{
		{"schedule: 0 2 * * *", "2026-11-26", "2026-12-05", []string{"2026-11-26", "2026-11-27", "2026-11-28"}}, // just now
		{"schedule: 1 2 * * *", "2026-11-27", "2026-12-05", []string{"2026-11-27"}},                             // not yet
		{"schedule: 0 2 * * *, schedule_date: yesterday", "2026-11-25", "2026-11-28", []string{"2026-11-25", "2026-11-26", "2026-11-27"}},
		{"schedule: 0 2 * * *, schedule_date: yesterday", "2026-11-25", "2026-11-25", []string{"2026-11-25"}},
		{"schedule: 0 2 * * *, schedule_date: -2d", "2026-11-25", "2026-11-30", []string{"2026-11-25", "2026-11-26"}},
		{"schedule: '*/5 * * * *'", "2026-11-27", "2026-11-28", []string{"2026-11-27", "2026-11-28"}}, // once a day
		{"schedule: 0 9 * * MON-FRI", "2026-11-19", "2026-11-28", []string{"2026-11-19", "2026-11-20", "2026-11-23", "2026-11-24", "2026-11-25", "2026-11-26", "2026-11-27"}},
		{"schedule: 0 0 31 * *", "2026-01-01", "2026-06-30", []string{"2026-01-31", "2026-03-31", "2026-05-31"}},
		{"schedule: 0 0 29 2 *", "2015-01-01", "2026-06-30", []string{"2016-02-29", "2020-02-29", "2024-02-29"}},
		{"schedule: '@monthly'", "2026-09-02", "2026-11-30", []string{"2026-10-01", "2026-11-01"}},
		{"schedule: '@weekly'", "2026-11-10", "2026-11-30", []string{"2026-11-15", "2026-11-22"}},
		{"schedule: 0 2 * * *", "2026-11-28", "2026-11-27", nil},
	} {
		s := scheduled(t, c.keys)
		list, err := s.Due(c.from, c.to, now, time.UTC)
		var got []string
		for _, d := range list {
			got = append(got, d.Date)
		}
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s, %s to %s: %s %v", c.keys, c.from, c.to, d, err)
		}
	}
}

func TestTheLastDueDateIsTheLastOfTheDueDates(t *testing.T) {
	texts := []string{"0 2 * * *", "*/10 * * * *", "0 9 * * 1-5", "30 2 1 * *", "0 0 31 * *", "15 2 * * 0"}
	rapid.Check(t, func(t *rapid.T) {
		s := &Schedule{Text: rapid.SampledFrom(texts).Draw(t, "schedule"), back: rapid.IntRange(0, 3).Draw(t, "back")}
		loc, err := time.LoadLocation(rapid.SampledFrom(dstZones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(rapid.Int64Range(1_500_000_000, 1_800_000_000).Draw(t, "now"), 0)
		list, err := s.Due(now.AddDate(0, -4, 0).Format(time.DateOnly), now.AddDate(0, 0, 2).Format(time.DateOnly), now, loc)
		if err != nil || len(list) == 0 {
			t.Fatalf("%v, %v", list, err)
		}
		for i, d := range list {
			if d.At.After(now) || i > 0 && d.Date <= list[i-1].Date {
				t.Fatalf("%v at %s", list, now)
			}
		}
		if last, ok, err := s.Last(now, loc); err != nil || !ok || last.Date != list[len(list)-1].Date {
			t.Fatalf("last is %v, %v, %v, want %v", last, ok, err, list[len(list)-1])
		}
	})
}

// A schedule says the same of a long time as of its parts.
func TestDueDatesOfASpanAreThoseOfItsDays(t *testing.T) {
	texts := []string{"0 2 * * *", "0 9 * * 1-5", "30 2 13 * 5", "0 0 31 * *", "5 4 */2 * *"}
	rapid.Check(t, func(t *rapid.T) {
		s := &Schedule{Text: rapid.SampledFrom(texts).Draw(t, "schedule"), back: rapid.IntRange(0, 2).Draw(t, "back")}
		first := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 700).Draw(t, "first"))
		days := rapid.IntRange(1, 60).Draw(t, "days")
		now := first.AddDate(0, 0, rapid.IntRange(0, 80).Draw(t, "now"))
		whole, err := s.Due(first.Format(time.DateOnly), first.AddDate(0, 0, days-1).Format(time.DateOnly), now, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		var parts []Due
		for i := range days {
			date := first.AddDate(0, 0, i).Format(time.DateOnly)
			one, err := s.Due(date, date, now, time.UTC)
			if err != nil || len(one) > 1 {
				t.Fatal(one, err)
			}
			parts = append(parts, one...)
		}
		if d := cmp.Diff(parts, whole); d != "" {
			t.Fatal(d)
		}
	})
}

func TestNeedsAreForADate(t *testing.T) {
	c := mustLoad(t, "tasks:\n  a: {go: noop, needs: [b, {task: b, offset: -1d}, {task: a, offset: yesterday}]}\n  b: {go: noop}\n")
	var got []string
	for _, n := range c.Tasks[0].Needs {
		got = append(got, n.Task+" "+n.Date("2024-03-01")+" "+n.String())
	}
	if d := cmp.Diff([]string{"b 2024-03-01 b", "b 2024-02-29 b (-1d)", "a 2024-02-29 a (-1d)"}, got); d != "" {
		t.Error(d)
	}
}

func TestTasksThatNeedEachOtherAreAMistake(t *testing.T) {
	got := problems(t, `tasks:
  sync: {go: noop, needs: [pay]}
  pay: {go: noop, needs: [{task: grant}, {offset: -1d}]}
  grant: {go: noop, needs: [sync, synk, grant, {task: sync, offset: -1d}]}
  day: {go: noop, needs: [{task: day, offset: -1d}]}
`)
	if d := cmp.Diff([]string{
		`3:42: "task" is missing`,
		`4:29: tasks that need each other can never run: sync needs pay needs grant needs sync`,
		`4:35: there is no task "synk"`,
		`4:41: tasks that need each other can never run: grant needs grant`,
	}, got); d != "" {
		t.Error(d)
	}
}
