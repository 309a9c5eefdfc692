package cmd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"runner/ledger"
)

func TestIDsAreCutInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"u1001", 8, "u1001"},
		{"order-2026-0001", 9, "orde…0001"},
		{"坏用户000000001", 10, "坏用…0001"},
		{"坏用户坏用户", 7, "坏用…户"},
		{"坏用户坏用户", 2, "…"},
	} {
		if got := clipMiddle(c.s, c.n); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.StringOf(rapid.RuneFrom([]rune("ab坏👨é"))).Draw(t, "s"), rapid.IntRange(0, 20).Draw(t, "n")
		if got := clipMiddle(s, n); columnsOf(got) > n || columnsOf(s) <= n && got != s {
			t.Fatalf("%q in %d: %q", s, n, got)
		}
	})
}

func TestTextIsWrappedAtItsSpaces(t *testing.T) {
	if got, want := wrap("the id 坏用户坏用户 is cut", 8), []string{"the id", "坏用户坏", "用户 is", "cut"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a column is worth decides what a narrow terminal shows of a record: who
// it is and how it went, then why, then the rest.
func TestANarrowTerminalShowsWhatMattersMost(t *testing.T) {
	r := recordJSON{TaskName: "grant-coupon", BizID: "坏用户000000001", ExecuteDate: "2026-11-28", Status: 4, Attempts: 3, Error: "exit status 1: the account of this user is closed"}
	for limit, want := range map[int][]string{
		60:  {"TASK", "BIZ_ID", "DATE", "STATUS", "ERROR"},
		80:  {"TASK", "BIZ_ID", "DATE", "STATUS", "ERROR"},
		160: {"TASK", "BIZ_ID", "DATE", "STATUS", "DETAIL", "ATTEMPTS", "UPDATED", "NEXT", "ERROR"},
	} {
		columns := recordColumns(nil)
		var full []int
		var fit []fitting
		for _, c := range columns {
			n := columnsOf(c.name)
			if c.name == "UPDATED" || c.name == "NEXT" {
				n = len("2026-11-28T14:00:00+08:00")
			} else {
				n = max(n, columnsOf(c.cell(r)))
			}
			full, fit = append(full, n), append(fit, c.fitting())
		}
		var shown []string
		for i, out := range leaveOut(full, fit, nil, limit) {
			if !out {
				shown = append(shown, columns[i].name)
			}
		}
		if !slices.Equal(shown, want) {
			t.Errorf("%d columns: %q, want %q", limit, shown, want)
		}
	}
}

func TestTheDoctorCutsNothingOnANarrowTerminal(t *testing.T) {
	w := seeded(t, 3, unchanged)
	w.stdoutTTY, w.width, w.vars = true, func() int { return 60 }, map[string]string{"NO_COLOR": "1"}
	put(t, func(_ ledger.Tx, b *ledger.Batch) error {
		b.HaltedAt, b.HaltReason = time.Now(), "max_failures: 5 of 20 attempts failed or are in doubt, which is too many"
		return nil
	})
	w.invoke("doctor")
	text := strings.Join(strings.Fields(w.out.String()), " ")
	if !strings.Contains(text, "which is too many hint: runner run t --date 2026-11-28") || strings.Contains(text, "…") {
		t.Error(w.out.String())
	}
	for line := range strings.Lines(w.out.String()) {
		if columnsOf(strings.TrimSuffix(line, "\n")) > 60 {
			t.Errorf("longer than the terminal: %q", line)
		}
	}
}
