package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fatih/color"
)

func statusColumns(loc *time.Location, whole bool) []column[statusJSON] {
	number := func(n func(statusJSON) int64) func(statusJSON) string {
		return func(r statusJSON) string { return strconv.FormatInt(n(r), 10) }
	}
	columns := []column[statusJSON]{
		{name: "TASK", cell: func(r statusJSON) string { return r.TaskName }, wide: true},
		{name: "DATE", cell: func(r statusJSON) string { return r.ExecuteDate }},
		{name: "ZONE", cell: func(r statusJSON) string { return r.TimeZone }, wide: true, spare: 6},
		{name: "STATE", cell: func(r statusJSON) string { return r.State }, tint: statusJSON.tint},
		{name: "OPEN", cell: number(func(r statusJSON) int64 { return r.Open }), spare: 1},
		{name: "OLDEST", cell: func(r statusJSON) string { return shortSpan(r.OldestOpenMS) }, spare: 3},
		{name: "FAILED", cell: number(func(r statusJSON) int64 { return r.Counts.Failed })},
		{name: "DOUBT", cell: number(func(r statusJSON) int64 { return r.Counts.InDoubt })},
		{name: "DONE", cell: number(func(r statusJSON) int64 { return r.Counts.Done }), spare: 2},
		{name: "SKIPPED", cell: number(func(r statusJSON) int64 { return r.Counts.Skipped }), spare: 4},
		{name: "NEXT", cell: func(r statusJSON) string { return r.NextAttemptAt.in(loc) }, spare: 5},
	}
	if whole {
		columns = append(columns, column[statusJSON]{name: "NOTES", wide: true,
			cell: func(r statusJSON) string { return strings.Join(r.notes(loc), "; ") }})
	}
	return columns
}

func (r statusJSON) tint(p palette) *color.Color {
	switch r.State {
	case "complete", "sealed":
		return p.good
	case "failed", "halted", "cut_off", stateMissing:
		return p.bad
	case "in_doubt":
		return p.doubt
	case "running", "planning":
		return p.busy
	}
	return p.dim
}

// below is what people read under the table.
func (r statusJSON) below(loc *time.Location) (lines []string) {
	switch {
	case r.groupLine != "":
		return []string{r.groupLine}
	case r.grouped:
		return nil
	}
	for _, n := range r.notes(loc) {
		lines = append(lines, r.TaskName+" "+r.ExecuteDate+": "+n)
	}
	return lines
}

func (r statusJSON) notes(loc *time.Location) (notes []string) {
	for _, s := range r.Runs {
		state := "dead"
		if s.Live {
			state = "live"
		}
		text := fmt.Sprintf("run %s is %s: %s, pid %d on %s, since %s", s.RunID, state, s.Command, s.PID, s.Host, s.StartedAt.in(loc))
		if s.Rate > 0 {
			text += fmt.Sprintf(", %.3g/s", s.Rate)
		}
		notes = append(notes, text)
	}
	if r.TimeLeftMS != nil {
		notes = append(notes, "about "+shortSpan(r.TimeLeftMS)+" left")
	}
	// While a task is paused nothing starts, whenever a record of it is due.
	if !r.NextAttemptAt.IsZero() && !r.PausedUntil.After(r.NextAttemptAt.Time) {
		notes = append(notes, "the next attempt of a waiting record is due at "+r.NextAttemptAt.in(loc))
	}
	if !r.PausedUntil.IsZero() {
		notes = append(notes, "paused until "+r.PausedUntil.in(loc)+", as its action asked for: nothing starts before")
	}
	for _, n := range r.Needs {
		if n.Count == 0 {
			notes = append(notes, n.Message+": "+n.Command)
			continue
		}
		notes = append(notes, fmt.Sprintf("%d %s: %s: %s", n.Count, strings.ReplaceAll(n.Status, "_", " "), n.Message, n.Command))
	}
	return notes
}

// shortSpan is a length of time in its two largest units.
func shortSpan(ms *int64) string {
	if ms == nil {
		return ""
	}
	s := *ms / 1000
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%dh", s/86400, s/3600%24)
}
