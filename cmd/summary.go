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
	BlockedBy   []blockJSON       `json:"blocked_by"`
	Records     []recordJSON      `json:"records,omitempty"` // with --biz-id

	yielded    bool // busy, and content
	incomplete bool // the batch is, whatever became of the scope
	halted     string
	would      string         // of a dry run of chosen records
	troubled   []ledger.Entry // the first few that failed or are in doubt
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
		BlockedBy: []blockJSON{}, halted: s.HaltReason, troubled: s.Troubled,
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
		Blocked:     s.Result == runner.Blocked,
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
	if err := list(a.p, summaryColumns, all(sums)); err != nil || a.p.form != formMarkdown {
		return err
	}
	return a.printTroubled(sums)
}

// printTroubled adds to a report in Markdown which records went wrong: in the
// summary of a CI job there is no stderr beside it.
func (a *app) printTroubled(sums []summaryJSON) error {
	var rows []ledger.Entry
	var bad int64
	for _, s := range sums {
		rows = append(rows, s.troubled...)
		bad += s.Counts.Failed + s.Counts.InDoubt
	}
	if len(rows) == 0 {
		return nil
	}
	a.p.blank()
	if err := list(a.p, troubledColumns, all(rows)); err != nil {
		return err
	}
	if more := bad - int64(len(rows)); more > 0 {
		a.p.blank()
		return a.p.say("and %d more", more)
	}
	return nil
}

var troubledColumns = []column[ledger.Entry]{
	{name: "TASK", cell: func(e ledger.Entry) string { return e.TaskName }},
	{name: "DATE", cell: func(e ledger.Entry) string { return e.ExecuteDate }},
	{name: "BIZ_ID", cell: func(e ledger.Entry) string { return e.BizID }},
	{name: "STATUS", cell: func(e ledger.Entry) string { return e.Status.String() }},
	{name: "ATTEMPTS", cell: func(e ledger.Entry) string { return fmt.Sprint(e.Attempts) }},
	{name: "ERROR", cell: func(e ledger.Entry) string { return oneLine(e.Error) }},
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
	{name: "TOOK", cell: func(s summaryJSON) string { return s.took() }},
	{name: "WHY", cell: summaryJSON.why},
}

func (s summaryJSON) took() string {
	return (time.Duration(s.DurationMS) * time.Millisecond).Round(10 * time.Millisecond).String()
}

// why says what kept the run from its end.
func (s summaryJSON) why() string {
	switch {
	case len(s.BlockedBy) > 0:
		return "needs " + blockWords(s.BlockedBy)
	case s.halted != "":
		return oneLine(s.halted)
	case s.yielded || s.Result == runner.IsBusy && len(s.HeldBy) > 0:
		return "held by run " + strings.Join(s.HeldBy, ", ")
	}
	return oneLine(s.Error)
}

// sentence is a summary in one line.
func sentence(s summaryJSON) string {
	var b strings.Builder
	b.WriteString(s.TaskName)
	if s.ExecuteDate != "" { // else it came to none
		fmt.Fprintf(&b, " %s (%s)", s.ExecuteDate, s.TimeZone)
	}
	b.WriteString(": " + strings.ReplaceAll(string(s.Result), "_", " "))
	if s.would != "" {
		return b.String() + ": " + s.would
	}
	if s.Result == runner.DryRun {
		fmt.Fprintf(&b, ": of %s %d new; now %s", plural(s.Planned, "record"), s.New, countWords(s.Counts))
	} else if s.Planned > 0 {
		fmt.Fprintf(&b, ": of %s %s; %s", plural(s.Planned, "record"), countWords(s.Counts), plural(s.Executed, "attempt"))
	}
	if len(s.BlockedBy) > 0 {
		fmt.Fprintf(&b, ": needs %s", blockWords(s.BlockedBy))
		return b.String()
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
		fmt.Fprintf(&b, ", %s", s.took())
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
	if strings.HasSuffix(word, "ch") {
		word += "e"
	}
	return fmt.Sprintf("%d %ss", n, word)
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
