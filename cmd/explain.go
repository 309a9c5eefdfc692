package cmd

import (
	"fmt"
	"strings"
	"time"

	"runner/ledger"
	"runner/runner"
)

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
		steps = append(steps, step{plural(n, "record") + " may or may not have taken effect: a person must find out", findOutHint(where)})
	}
	return steps
}

// findOutHint is what a person does about records in doubt; where is their task
// and date, as the command line has it.
func findOutHint(where string) string {
	return "find out of each whether it took effect; if so, runner ledger mark " + where + " --as done --reason TEXT BIZ_ID; if not, runner rerun " + where + " --status in_doubt --yes --biz-id BIZ_ID"
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
