package cmd

import (
	"slices"
	"strings"
	"time"
)

// markdown has the calendar as tables of at most a month.
func (r *report) markdown() string {
	var b strings.Builder
	for from := 0; from < len(r.days) && len(r.tasks) > 0; from += markdownDays {
		to := min(from+markdownDays, len(r.days))
		b.WriteString("| TASK |")
		for _, d := range r.days[from:to] {
			b.WriteString(" " + d.t.Format("01-02") + " |")
		}
		b.WriteString("\n| --- |" + strings.Repeat(" :-: |", to-from) + "\n")
		for _, t := range r.tasks {
			b.WriteString("| " + markdownCell(t.name) + " |")
			for _, d := range t.days[from:to] {
				b.WriteString(" " + d.mark.glyph() + " |")
			}
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	plain := newPalette(false)
	for line := range strings.Lines(r.legend(1<<20, plain)) {
		b.WriteString(markdownCell(strings.TrimSpace(line)) + "\\\n")
	}
	return strings.TrimSuffix(b.String(), "\\\n") + "\n"
}

// reportJSON is a day of a task. Its names are an interface: they only grow.
type reportJSON struct {
	TaskName    string     `json:"task_name"`
	ExecuteDate string     `json:"execute_date"`
	TimeZone    string     `json:"time_zone"`
	Mark        string     `json:"mark"`
	State       string     `json:"state"` // as in status
	Records     int64      `json:"records"`
	Counts      countsJSON `json:"counts"`
	DueAt       stamp      `json:"due_at"` // of what is missing
	HaltReason  string     `json:"halt_reason"`
	SealedAt    stamp      `json:"sealed_at"`
	Command     string     `json:"command"` // what to do first; empty: nothing
}

func (r *report) json() (rows []reportJSON) {
	for _, t := range r.tasks {
		for _, d := range t.days {
			if d.mark == markNone {
				continue
			}
			row := reportJSON{
				TaskName: t.name, ExecuteDate: d.date.String(), TimeZone: t.zone, Mark: d.mark.name(), State: d.state,
				Records: d.batch.Counts.Total(), Counts: newCounts(d.batch.Counts), DueAt: stamp{d.dueAt.Truncate(time.Millisecond)},
				HaltReason: d.batch.HaltReason, SealedAt: stamp{d.batch.SealedAt},
			}
			if len(d.needs) > 0 {
				row.Command = d.needs[0].Command
			}
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b reportJSON) int { return strings.Compare(a.ExecuteDate, b.ExecuteDate) })
	return rows
}
