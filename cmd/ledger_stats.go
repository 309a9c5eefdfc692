package cmd

import (
	"context"
	"slices"
	"strconv"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"runner/ledger"
)

func newLedgerStatsCmd(a *app) *cobra.Command {
	var o statsOptions
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count records by task, date and status",
		Long: `Count records by task, date and status, newest dates first. The counts are
kept with each batch, so this is quick on a ledger of any size. No ledger is an
empty list.

EXIT STATUS
  0 printed, 2 usage is wrong, 7 the ledger can't be used.`,
		Example: `  runner ledger stats --date 2026-11
  runner ledger stats --by task --by status -o csv`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return runStats(c.Context(), a, c, o) },
	}
	o.addFlags(c)
	return c
}

type statsOptions struct {
	task, date string
	by         []string
}

var groupings = []string{"task", "date", "status"}

func (o *statsOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.task, "task", "", "of this `TASK`")
	f.StringVar(&o.date, "date", "", "of this execute `DATE`: today, yesterday, -3d, 2026-11-28, 2026-11 or A..B")
	f.StringSliceVar(&o.by, "by", []string{"task", "date"}, "a row for each `WORD` of task, date, status (repeatable, or separated by commas)")
	completeWith(c, "by", groupings...)
}

func runStats(ctx context.Context, a *app, c *cobra.Command, o statsOptions) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	var by ledger.Grouping
	for _, word := range o.by {
		if !slices.Contains(groupings, word) {
			return withHint(usagef("--by %q is not known", word), "use task, date or status")
		}
		by.Task, by.Date, by.Status = by.Task || word == "task", by.Date || word == "date", by.Status || word == "status"
	}
	if c.Flags().Changed("task") && o.task == "" {
		return usagef("--task is empty")
	}
	from, to, err := dateSpan(a, c, where, o.date)
	if err != nil {
		return err
	}
	batches, err := a.batches(ctx, where, o.task, from, to)
	if err != nil {
		return err
	}
	if len(batches) == 0 {
		by.Status = true // no row rather than a row of zeros
		if a.p.form.forPeople() {
			a.p.note("no records match")
		}
	}
	rows := []statJSON{}
	for _, t := range ledger.Group(batches, by) {
		rows = append(rows, statJSON{t.TaskName, t.ExecuteDate, t.Status, t.Batches, t.Counts.Total(), newCounts(t.Counts)})
	}
	return list(a.p, statColumns(by), all(rows))
}

// batches lists batches; none if there is no ledger, which is said.
func (a *app) batches(ctx context.Context, where located, task, from, to string) ([]ledger.Batch, error) {
	led, err := a.openListed(ctx, where)
	if err != nil || led == nil {
		return nil, err
	}
	defer led.Close() // it was only read
	batches, err := led.Batches(ctx, task, from, to)
	return batches, causeOf(ctx, err)
}

// statJSON is a row of counts. What it isn't grouped by is null.
type statJSON struct {
	TaskName    *string        `json:"task_name"`
	ExecuteDate *string        `json:"execute_date"`
	Status      *ledger.Status `json:"status"`
	Batches     int64          `json:"batches"`
	Records     int64          `json:"records"`
	Counts      countsJSON     `json:"counts"`
}

func statColumns(by ledger.Grouping) (columns []column[statJSON]) {
	if by.Task {
		columns = append(columns, column[statJSON]{name: "TASK", cell: func(r statJSON) string { return *r.TaskName }, wide: true})
	}
	if by.Date {
		columns = append(columns, column[statJSON]{name: "DATE", cell: func(r statJSON) string { return *r.ExecuteDate }})
	}
	if by.Status {
		columns = append(columns, column[statJSON]{name: "STATUS", cell: func(r statJSON) string { return r.Status.String() },
			tint: func(r statJSON, p palette) *color.Color { return p.status(*r.Status) }})
	}
	number := func(name string, n func(statJSON) int64) {
		columns = append(columns, column[statJSON]{name: name, cell: func(r statJSON) string { return strconv.FormatInt(n(r), 10) }})
	}
	number("BATCHES", func(r statJSON) int64 { return r.Batches })
	number("RECORDS", func(r statJSON) int64 { return r.Records })
	if !by.Status {
		number("PENDING", func(r statJSON) int64 { return r.Counts.Pending })
		number("RUNNING", func(r statJSON) int64 { return r.Counts.Running })
		number("DONE", func(r statJSON) int64 { return r.Counts.Done })
		number("FAILED", func(r statJSON) int64 { return r.Counts.Failed })
		number("IN_DOUBT", func(r statJSON) int64 { return r.Counts.InDoubt })
		number("SKIPPED", func(r statJSON) int64 { return r.Counts.Skipped })
	}
	return columns
}
