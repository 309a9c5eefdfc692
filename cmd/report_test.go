package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"runner/ledger"
)

const calendarOfNovember = `                 Nov 2026
               31   02             09             16             23
grant-coupon   ! #  # # # # ✓ ✓ ✓  ✓ ✓ ✗ ✓ ✓ ✓ ✓  ✓ ! ! ✓ ✓ ✓ ✓  ✓ ? ✓ o ✓ ✓ .
对账-每日结算  . .  # # # # ✓ . .  ✓ ✓ ✓ ✓ ! . .  ✓ ✓ ✓ ✓ ✗ . .  ✓ ✓ ✓ ✓ ✓ . .
settle-orders  . .  ✓ . ✓ . ✓ . ✓  . ✓ . ✓ . ✓ .  ✓ . ✓ . ✓ . ✓  . ✓ . ✓ . > .
report-mails   . .  . . . . . . .  . . . . . . .  . . . . . . .  ! . . . . . .
`

func TestACalendarShowsAMarkForEachDay(t *testing.T) {
	w := reportWorld(t)
	if code := w.invoke("report"); code != exitOK {
		t.Fatalf("exit %d: %s", code, &w.err)
	}
	if !strings.Contains(w.out.String(), calendarOfNovember) {
		t.Errorf("the calendar is\n%s", &w.out)
	}
	for _, line := range []string{"✗ 2 failed", "! 5 missing", "? 1 in doubt", "o 1 open", "> 1 running", "# 9 sealed", "2026-10-31 to 2026-11-29, Asia/Shanghai", "before 2026-10-31: 9 failed: runner status"} {
		if !strings.Contains(w.out.String(), line) {
			t.Errorf("%q is missing in\n%s", line, &w.out)
		}
	}
}

// Whatever the range and the window, each day has its mark once, in order, and
// no line is wider than the window.
func TestACalendarFitsTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := day{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}.add(rapid.IntRange(0, 400).Draw(t, "first"))
		n := rapid.IntRange(1, maxDates).Draw(t, "days")
		width := rapid.IntRange(24, 200).Draw(t, "width")
		r := &report{where: located{zoneName: "UTC"}}
		task := reportTask{name: rapid.SampledFrom([]string{"t", "grant-coupon-of-double-eleven", "对账-每日结算"}).Draw(t, "name")}
		var marks strings.Builder
		for i := range n {
			r.days = append(r.days, first.add(i))
			m := dayMark(rapid.IntRange(int(markNone), int(markMissing)).Draw(t, "mark"))
			task.days = append(task.days, reportDay{date: first.add(i), mark: m})
			marks.WriteString(m.glyph())
		}
		r.tasks = []reportTask{task}
		s := &stream{tty: true, width: func() int { return width }, colors: newPalette(false)}
		text := r.calendar(s)
		var got strings.Builder
		name := clip(visible(task.name), max(width/3, narrowest))
		for line := range strings.Lines(text) {
			if c := columnsOf(strings.TrimRight(line, "\n")); c > width {
				t.Fatalf("%d columns in a window of %d: %q", c, width, line)
			}
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				got.WriteString(strings.Map(func(r rune) rune {
					if unicode.IsSpace(r) {
						return -1
					}
					return r
				}, rest))
			}
		}
		if got.String() != marks.String() {
			t.Fatalf("marks %s, want %s in\n%s", got.String(), marks.String(), text)
		}
	})
}

func TestErrorsAreGroupedByWhatTheyHaveInCommon(t *testing.T) {
	for _, c := range []struct{ text, id, want string }{
		{"", "u1", "no message"},
		{"exit status 1: timeout after 12.50s", "u1", "exit status N: timeout after N.Ns"},
		{"user u10023 not found", "u10023", "user <id> not found"},
		{"request 3f9c2a71-0b12-4c1e-9d22-7a61e0aa0042 failed", "x", "request <id> failed"},
		{"order ORD-20261111-118 and sha256", "x", "order <id> and shaN"},
		{"key c3JjX3B1YmxpY19rZXk9MTIz", "x", "key <id>"},
		{"余额不足：账户 10023 还差 35.50 元", "x", "余额不足：账户 N 还差 N.N 元"},
		{"first\nsecond 2\x1b[31m", "x", `first | second N\xNb[Nm`},
		{"é 7", "x", "é N"},
	} {
		if got := errorKind(c.text, c.id); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	var g errorGroups
	for i := range 3000 {
		g.add(ledger.Entry{Key: ledger.Key{BizID: "x", ExecuteDate: "2026-11-11"}, Error: "common"})
		g.add(ledger.Entry{Error: "kind " + strings.Repeat("x", i)})
	}
	top, others := g.top(1)
	if len(g.kinds) > maxKinds || top[0].message != "common" || top[0].n != 3000 || top[0].n+others != 6000 {
		t.Errorf("%d kinds, %d of %q, %d others", len(g.kinds), top[0].n, top[0].message, others)
	}
}

func TestTimeAtWorkCountsWhatOverlapsOnce(t *testing.T) {
	at := func(m int) time.Time { return time.Date(2026, 11, 11, 2, m, 0, 0, time.UTC) }
	var w dayWork
	for _, s := range [][2]int{{0, 10}, {20, 30}, {5, 15}, {25, 26}, {14, 21}, {50, 40}} {
		w.add(ledger.Run{StartedAt: at(s[0]), EndedAt: at(s[1])})
	}
	if w.took() != 30*time.Minute || w.runs != 6 {
		t.Errorf("%s in %d runs", w.took(), w.runs)
	}
}

func TestACommandOfAPageCanBeCopied(t *testing.T) {
	for _, c := range []struct{ id, want string }{
		{"u1", "runner ledger show t u1 --date 2026-11-11"},
		{"-", "runner ledger show t - --date 2026-11-11"},
		{"-rf", "runner ledger show --date 2026-11-11 -- t -rf"},
		{"$(reboot)'", `runner ledger show t '$(reboot)'\''' --date 2026-11-11`},
		{"a'\\\x1b", `runner ledger show t $'a\'\\\x1b' --date 2026-11-11`},
	} {
		if got := showCommand(ledger.Key{TaskName: "t", BizID: c.id, ExecuteDate: "2026-11-11"}, ""); got != c.want {
			t.Errorf("%q: %s, want %s", c.id, got, c.want)
		}
	}
}

func TestADayIsARowWhereProgramsRead(t *testing.T) {
	w := reportWorld(t)
	if code := w.invoke("report", "-o", "json", "--task", "grant-coupon", "--from", "2026-11-10", "--to", "2026-11-28"); code != exitOK {
		t.Fatalf("exit %d: %s", code, &w.err)
	}
	var rows []struct {
		ExecuteDate, Mark, State, Command string
		Records                           int64
		Counts                            map[string]int64
	}
	if err := json.Unmarshal(bytes.ReplaceAll(w.out.Bytes(), []byte("execute_date"), []byte("ExecuteDate")), &rows); err != nil {
		t.Fatal(err)
	}
	marks := map[string]string{}
	for _, r := range rows {
		marks[r.ExecuteDate] = r.Mark + " " + r.State
	}
	for date, want := range map[string]string{
		"2026-11-10": "complete complete", "2026-11-11": "failed failed", "2026-11-17": "missing missing", "2026-11-24": "in_doubt in_doubt", "2026-11-26": "open halted",
	} {
		if marks[date] != want {
			t.Errorf("%s: %s, want %s", date, marks[date], want)
		}
	}
	if d := cmp.Diff("runner run grant-coupon --date 2026-11-17", rows[7].Command); d != "" || len(rows) != 19 {
		t.Errorf("%d rows: %s", len(rows), d)
	}
}

func TestAPageIsReplacedAsAWhole(t *testing.T) {
	w := reportWorld(t)
	if err := os.WriteFile("page.html", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := w.invoke("report", "--html", "page.html", "--task", "nobody"); code != exitUsage {
		t.Errorf("unknown task: exit %d: %s", code, &w.err)
	}
	if got, err := os.ReadFile("page.html"); string(got) != "old" || err != nil {
		t.Errorf("what failed has replaced it: %v", err)
	}
	if code := w.invoke("report", "--html", "page.html"); code != exitOK || w.out.Len()+w.err.Len() > 0 {
		t.Errorf("exit %d: %s%s", code, &w.out, &w.err)
	}
	got, err := os.ReadFile("page.html")
	if err != nil || !bytes.HasPrefix(got, []byte("<!doctype html>")) || !bytes.HasSuffix(got, []byte("</html>\n")) {
		t.Errorf("%v: %.100s", err, got)
	}
	for _, bad := range []string{"<script", "<img", "\x1b", "\u202e"} {
		if bytes.Contains(got, []byte(bad)) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 3 {
		t.Errorf("left over: %v %v", left, err)
	}
}

func TestAPageWithoutALedgerIsEmpty(t *testing.T) {
	t.Chdir(t.TempDir())
	w := newWorld(t)
	if code := w.invoke("report", "--html", "-"); code != exitOK || !strings.Contains(w.out.String(), "No task has a schedule or ran in these days.") {
		t.Errorf("exit %d: %s%s", code, &w.out, &w.err)
	}
}
