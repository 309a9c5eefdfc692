package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"runner/ledger"
	"runner/runner"
)

// summaryJSON is how a run went as JSON and CSV show it. Its names are an
// interface: they only grow.
type summaryJSON struct {
	RunID       *string           `json:"run_id"` // null if nothing was begun
	TaskName    string            `json:"task_name"`
	ExecuteDate string            `json:"execute_date"`
	TimeZone    string            `json:"time_zone"`
	Result      runner.ResultWord `json:"result"`
	Error       string            `json:"error,omitempty"`
	Planned     int64             `json:"planned"`
	New         int64             `json:"new"`
	Changed     int64             `json:"changed"`
	Absent      int64             `json:"absent"`
	Duplicates  int64             `json:"duplicates"`
	Executed    int64             `json:"executed"`
	AlreadyDone int64             `json:"already_done"`
	Counts      countsJSON        `json:"counts"`
	HeldBy      []string          `json:"held_by"`
	PausedUntil stamp             `json:"paused_until"`
	StartedAt   stamp             `json:"started_at"`
	EndedAt     stamp             `json:"ended_at"`
	DurationMS  int64             `json:"duration_ms"`
	Records     []recordJSON      `json:"records,omitempty"` // with --biz-id

	yielded bool // busy, and content
}

// countsJSON always has all six statuses.
type countsJSON struct {
	Pending int64 `json:"pending"`
	Running int64 `json:"running"`
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	InDoubt int64 `json:"in_doubt"`
	Skipped int64 `json:"skipped"`
}

func newCounts(c ledger.Counts) countsJSON {
	return countsJSON{
		Pending: c[ledger.Pending], Running: c[ledger.Running], Done: c[ledger.Done],
		Failed: c[ledger.Failed], InDoubt: c[ledger.InDoubt], Skipped: c[ledger.Skipped],
	}
}

func newSummary(s runner.Summary, records []recordJSON) summaryJSON {
	j := summaryJSON{
		TaskName: s.TaskName, ExecuteDate: s.ExecuteDate, TimeZone: s.TimeZone, Result: s.Result, Error: s.Error,
		Planned: s.Planned, New: s.New, Changed: s.Changed, Absent: s.Absent, Duplicates: s.Duplicates,
		Executed: s.Executed, AlreadyDone: s.AlreadyDone, Counts: newCounts(s.Counts), HeldBy: append([]string{}, s.HeldBy...),
		PausedUntil: stamp{s.PausedUntil}, StartedAt: stamp{s.StartedAt}, EndedAt: stamp{s.EndedAt},
		DurationMS: max(s.EndedAt.Sub(s.StartedAt).Milliseconds(), 0), Records: records, yielded: s.Yielded,
	}
	if s.RunID != "" {
		j.RunID = &s.RunID
	}
	return j
}

// facts is what a summary adds to the exit code.
func facts(s runner.Summary, sig os.Signal) outcomeFacts {
	f := outcomeFacts{
		LedgerError: s.Result == runner.LedgerError,
		Usage:       s.Result == runner.Invalid,
		Halted:      s.Result == runner.Halted,
		Busy:        s.Result == runner.IsBusy && !s.Yielded,
		Waiting:     s.Result == runner.IsWaiting,
	}
	if s.Result == runner.Interrupted {
		f.Signal = sig
	}
	if s.Result != runner.DryRun {
		f.InDoubt, f.Failed = s.Counts[ledger.InDoubt], s.Counts[ledger.Failed]
	}
	return f
}

// printSummaries prints how runs went: one object for one date, an array for
// several; for people a line each, unless all went well and nobody looks.
func (a *app) printSummaries(sums []summaryJSON, several, asked bool) error {
	if a.p.form == formTable {
		for _, s := range sums {
			if asked || !wentWell(s.Result) && !s.yielded || a.p.err.tty && !a.p.quiet {
				if err := a.p.say("%s", sentence(s)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if a.p.form == formJSON && !several && len(sums) == 1 {
		return quietly(writeJSON(a.p.out, sums[0], "\n"))
	}
	return list(a.p, summaryColumns, all(sums))
}

func wentWell(r runner.ResultWord) bool { return r == runner.Complete || r == runner.Partial }

var summaryColumns = []column[summaryJSON]{
	{name: "TASK", cell: func(s summaryJSON) string { return s.TaskName }},
	{name: "DATE", cell: func(s summaryJSON) string { return s.ExecuteDate }},
	{name: "ZONE", cell: func(s summaryJSON) string { return s.TimeZone }},
	{name: "RESULT", cell: func(s summaryJSON) string { return string(s.Result) }},
	{name: "PLANNED", cell: func(s summaryJSON) string { return fmt.Sprint(s.Planned) }},
	{name: "NEW", cell: func(s summaryJSON) string { return fmt.Sprint(s.New) }},
	{name: "EXECUTED", cell: func(s summaryJSON) string { return fmt.Sprint(s.Executed) }},
	{name: "COUNTS", cell: func(s summaryJSON) string { return countWords(s.Counts) }},
	{name: "ERROR", cell: func(s summaryJSON) string { return s.Error }},
}

// sentence is a summary in one line.
func sentence(s summaryJSON) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s): %s", s.TaskName, s.ExecuteDate, s.TimeZone, strings.ReplaceAll(string(s.Result), "_", " "))
	if s.Result == runner.DryRun {
		fmt.Fprintf(&b, ": of %s %d new; now %s", plural(s.Planned, "record"), s.New, countWords(s.Counts))
	} else if s.Planned > 0 {
		fmt.Fprintf(&b, ": of %s %s; %s", plural(s.Planned, "record"), countWords(s.Counts), plural(s.Executed, "attempt"))
	}
	for _, x := range []struct {
		n    int64
		word string
	}{{s.AlreadyDone, "done before"}, {s.Duplicates, "repeated in the input"}, {s.Changed, "with changed fields"}, {s.Absent, "not in this input"}} {
		if x.n > 0 {
			fmt.Fprintf(&b, ", %d %s", x.n, x.word)
		}
	}
	if s.yielded {
		fmt.Fprintf(&b, ", left to run %s", strings.Join(s.HeldBy, ", "))
	}
	if s.Result != runner.DryRun {
		fmt.Fprintf(&b, ", %s", (time.Duration(s.DurationMS) * time.Millisecond).Round(10*time.Millisecond))
	}
	return b.String()
}

// countWords lists the statuses that have records.
func countWords(c countsJSON) string {
	var words []string
	for _, x := range []struct {
		n    int64
		word string
	}{{c.Done, "done"}, {c.Failed, "failed"}, {c.InDoubt, "in doubt"}, {c.Skipped, "skipped"}, {c.Running, "running"}, {c.Pending, "pending"}} {
		if x.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// explain says on stderr what a run left and what to do about it. With the
// summary it stays under 40 lines.
func (a *app) explain(s runner.Summary, zone *time.Location) {
	for _, u := range s.Unwritten { // all of them: nobody else will ever know
		a.p.problem(strings.TrimSpace(fmt.Sprintf("%s: its outcome could be written nowhere: %s %s", u.Key, u.Report.Outcome, oneLine(u.Report.Error+u.Report.Result))), "")
	}
	for _, e := range s.Troubled {
		msg := fmt.Sprintf("%s %s: %s", e.TaskName, e.BizID, strings.ReplaceAll(e.Status.String(), "_", " "))
		if e.Attempts > 0 {
			msg += " after " + plural(int64(e.Attempts), "attempt")
		}
		if e.Status == ledger.InDoubt && !e.StartedAt.IsZero() {
			msg += ", started " + e.StartedAt.In(zone).Format(time.RFC3339)
		}
		if e.Error != "" {
			msg += ": " + oneLine(e.Error)
		}
		a.p.problem(msg, "")
	}
	bad := s.Counts[ledger.Failed] + s.Counts[ledger.InDoubt]
	if more := bad - int64(len(s.Troubled)); more > 0 && len(s.Troubled) > 0 {
		a.p.problem(fmt.Sprintf("and %d more; runner ledger ls --task %s --date %s --status failed,in_doubt%s lists them", more, shellWord(s.TaskName), s.ExecuteDate, a.sameFlags()), "")
	}
	for _, v := range s.Survivors {
		hint := "it ends by itself, or runner recover --kill" + a.sameFlags() + " ends it; then run again"
		if v.Group > 0 {
			hint = fmt.Sprintf("it ends by itself, or runner recover --kill%s ends it (kill -- -%d); then run again", a.sameFlags(), v.Group)
		}
		a.p.problem(survivorText(v, a.now()), hint)
	}
	if s.LateEnds > 0 {
		a.p.problem(plural(s.LateEnds, "outcome")+" came when the record had gone on already", "runner ledger show tells what is known of a record")
	}
	for _, l := range a.nextSteps(s, zone) {
		a.p.problem(l.msg, l.hint)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sameFlags are those flags of this command that the next one needs too.
func (a *app) sameFlags() string {
	var b strings.Builder
	if a.flags.config != "" {
		b.WriteString(" --config " + shellWord(a.flags.config))
	}
	if a.flags.ledger != "" {
		b.WriteString(" --ledger " + shellWord(shownLedger(a.flags.ledger)))
	}
	if a.flags.runDir != "" {
		b.WriteString(" --run-dir " + shellWord(a.flags.runDir))
	}
	return b.String()
}

type step struct{ msg, hint string }

func (a *app) nextSteps(s runner.Summary, zone *time.Location) (steps []step) {
	where := shellWord(s.TaskName) + " --date " + s.ExecuteDate + a.sameFlags()
	switch s.Result {
	case runner.Halted:
		steps = append(steps, step{"halted: " + oneLine(s.HaltReason), "nothing more was started; put it right and run again"})
	case runner.IsBusy:
		if s.Yielded {
			return nil
		}
		msg := "run " + strings.Join(s.HeldBy, ", ") + " works on the batch"
		if n := s.Counts[ledger.Running]; n > 0 {
			msg = fmt.Sprintf("held by run %s: %s", strings.Join(s.HeldBy, ", "), plural(n, "record"))
		}
		steps = append(steps, step{msg, "run again when it has ended"})
	case runner.IsWaiting:
		steps = append(steps, step{"records wait until " + later(s.NextDue, s.PausedUntil).In(zone).Format(time.RFC3339), "run again then"})
	case runner.Interrupted:
		msg := "interrupted"
		if n := s.Counts[ledger.Pending] + s.Counts[ledger.Running]; n > 0 {
			msg += ": " + plural(n, "record") + " left to do"
		}
		steps = append(steps, step{msg, "run the same command again to go on"})
	}
	if s.Counts[ledger.Failed] > 0 {
		steps = append(steps, step{plural(s.Counts[ledger.Failed], "record") + " failed", "runner rerun " + where + " tries them again"})
	}
	if n := s.Counts[ledger.InDoubt]; n > 0 {
		hint := "find out of each whether it took effect; if so, runner ledger mark " + where + " --as done --reason TEXT BIZ_ID; if not, runner rerun " + where + " --status in_doubt --yes --biz-id BIZ_ID"
		steps = append(steps, step{plural(n, "record") + " may or may not have taken effect: a person must find out", hint})
	}
	return steps
}

func survivorText(v runner.Survivor, now time.Time) string {
	text := fmt.Sprintf("%s %s: an attempt of the dead run %s is still alive", v.TaskName, v.BizID, v.RunID)
	if v.PID != 0 {
		text += fmt.Sprintf(": pid %d, started %s ago", v.PID, now.Sub(v.StartedAt).Round(time.Second))
		if v.Overdue(now) {
			text += ", overdue"
		}
		return text
	}
	if v.Until.IsZero() {
		return text + ", or may be: its processes can't be seen from here"
	}
	return text + ", or may be until " + v.Until.Local().Format(time.RFC3339) + ": its processes can't be seen from here"
}

// oneLine joins the lines of a text.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " | ")
}

// recordsOf gives the named records of a batch.
func recordsOf(ctx context.Context, led *ledger.Ledger, task, date, namespace string, ids []string) ([]recordJSON, error) {
	if len(ids) == 0 || led == nil {
		return nil, nil
	}
	rows := []recordJSON{}
	err := led.Store().View(ctx, func(r ledger.Reader) error {
		entries, err := r.List(ledger.Query{TaskName: task, ExecuteDate: date, BizIDs: ids, Ascending: true})
		for _, e := range entries {
			rows = append(rows, newRecord(e, namespace))
		}
		return err
	})
	return rows, err
}
