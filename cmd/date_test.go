package cmd

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOneDateIsReadInItsZone(t *testing.T) {
	now := time.Date(2026, 11, 28, 20, 30, 0, 0, time.UTC) // the 29th in Shanghai
	for _, c := range []struct{ text, zone, want string }{
		{"2026-11-28", "UTC", "2026-11-28"},
		{"20261128", "UTC", "2026-11-28"},
		{"2024-02-29", "UTC", "2024-02-29"},
		{"today", "UTC", "2026-11-28"},
		{"today", "Asia/Shanghai", "2026-11-29"},
		{"yesterday", "Asia/Shanghai", "2026-11-28"},
		{"yesterday", "America/New_York", "2026-11-27"},
		{"-0d", "UTC", "2026-11-28"},
		{"-3d", "Asia/Shanghai", "2026-11-26"},
		{"-365d", "UTC", "2025-11-28"},
		{"0001-01-01", "UTC", "0001-01-01"},
	} {
		if got, err := parseDate(c.text, now, zone(t, c.zone)); err != nil || got != c.want {
			t.Errorf("%s in %s: %s, %v; want %s", c.text, c.zone, got, err, c.want)
		}
	}
}

func TestWhatIsNoDateIsAUsageErrorWithAHint(t *testing.T) {
	for _, text := range []string{
		"", " ", "2026-02-30", "20260230", "2026-13-01", "0000-01-01", "2026-1-2", "2026/11/28", "tomorrow", "Today", "-d", "--3d",
		"-1000000d", "-999999d", "+3d", "3d", " 2026-11-28", "2026-11-28\n", "2026-11", "2026-11-01..2026-11-02", "２０２６1128",
	} {
		_, err := parseDate(text, time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), time.UTC)
		var usage *usageError
		if !errors.As(err, &usage) || hintOf(err) == "" {
			t.Errorf("%q: error %v, hint %q", text, err, hintOf(err))
		}
	}
}

func TestRangesAreInclusiveAndAscending(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text        string
		n           int
		first, last string
	}{
		{"2026-11-28", 1, "2026-11-28", "2026-11-28"},
		{"2026-11", 30, "2026-11-01", "2026-11-30"},
		{"2024-02", 29, "2024-02-01", "2024-02-29"},
		{"2026-08-06..2026-08-07", 2, "2026-08-06", "2026-08-07"},
		{"20260806..2026-08-06", 1, "2026-08-06", "2026-08-06"},
		{"-3d..yesterday", 3, "2026-02-27", "2026-03-01"},
		{"2026-02..today", 30, "2026-02-01", "2026-03-02"},
		{"2025-12..2026-01", 62, "2025-12-01", "2026-01-31"},
	} {
		got, err := parseDates(c.text, now, time.UTC, maxDates)
		if err != nil || len(got) != c.n || got[0] != c.first || got[c.n-1] != c.last {
			t.Errorf("%s: %v, %v", c.text, got, err)
		}
	}
}

func TestRangesThatAreRefused(t *testing.T) {
	for _, text := range []string{
		"2026-08-07..2026-08-06", "..2026-08-06", "2026-08-06..", "..", "2026-08-06...2026-08-07", "a..b", "2026-13", "0000-01",
		"2025-01-01..2026-12-31", "0001-01-01..9999-12-31", "",
	} {
		if got, err := parseDates(text, time.Now(), time.UTC, maxDates); err == nil || codeOfError(err) != exitUsage {
			t.Errorf("%q: %d dates, %v", text, len(got), err)
		}
	}
	if _, err := parseDates("2026-01-01..2026-01-03", time.Now(), time.UTC, 2); err == nil {
		t.Error("3 dates were accepted where at most 2 are allowed")
	}
}

// Case 30: the day of a clock change is one date like any other.
func TestRangesOverClockChangesHoldEachDateOnce(t *testing.T) {
	for _, name := range []string{"America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Cairo", "Pacific/Apia", "Asia/Shanghai"} {
		loc := zone(t, name)
		for _, change := range []string{"2024-03-10", "2024-11-03", "2018-11-04", "2011-12-30"} {
			mid, _ := time.Parse(time.DateOnly, change)
			var want []string
			for i := -7; i <= 7; i++ {
				want = append(want, time.Date(mid.Year(), mid.Month(), mid.Day()+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
			}
			got, err := parseDates(want[0]+".."+want[14], time.Now(), loc, maxDates)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%s over %s: %v (-want +got):\n%s", name, change, err, d)
			}
			// The same, counted back from any hour of the last day.
			for hour := range 24 {
				now := time.Date(mid.Year(), mid.Month(), mid.Day()+7, hour, 30, 0, 0, loc)
				got, err := parseDates("-14d..today", now, loc, maxDates)
				if d := cmp.Diff(want, got); err != nil || d != "" {
					t.Errorf("%s at %s: %v (-want +got):\n%s", name, now, err, d)
				}
			}
		}
	}
}

func TestAnyRangeHoldsEachDateOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(rapid.IntRange(1, 9990).Draw(t, "year"), 1, rapid.IntRange(1, 366).Draw(t, "day"), 0, 0, 0, 0, time.UTC)
		n := rapid.IntRange(1, maxDates).Draw(t, "dates")
		text := fmt.Sprintf("%s..%s", start.Format(time.DateOnly), start.AddDate(0, 0, n-1).Format(time.DateOnly))
		got, err := parseDates(text, time.Now(), time.UTC, maxDates)
		if err != nil || len(got) != n {
			t.Fatalf("%s: %d dates, %v", text, len(got), err)
		}
		for i := 1; i < n; i++ {
			if got[i-1] >= got[i] {
				t.Fatalf("%s: %s before %s", text, got[i-1], got[i])
			}
		}
	})
}
