package cmd

import (
	"context"
	"slices"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"runner/ledger"
)

func newGapsCmd(a *app) *cobra.Command {
	var o gapsOptions
	c := &cobra.Command{
		Use:   "gaps [TASK…]",
		Short: "List dates that never ran or are not complete",
		Long: `List the execute dates of tasks that should have run by now and never did, and
those that are not complete, with why and what to do about it. Without TASK, of
all tasks that have a schedule in runner.yaml. Which dates there should be says
the schedule; of a task without one every day that is over, or asked for.

Without --from they are looked for from schedule_since on, else from the first
date that the ledger has of the task; of a scheduled task that has never run
only the newest date is listed. Without --to they are looked for until now.

A date is complete when all that was ever planned for it is done or skipped: a
record that no run's input held is not known. One that a live run works on is
listed, and is no gap.

EXIT STATUS
  0 there are no gaps; 1 there are, 2 usage is wrong, 7 the ledger can't be
  used.`,
		Example: `  runner gaps
  runner gaps grant-coupon --from 2026-11-01 --to yesterday -o json
  runner run grant-coupon --catch-up`,
		RunE: func(c *cobra.Command, args []string) error { return runGaps(c.Context(), a, c, o, args) },
	}
	o.addFlags(c)
	return c
}

type gapsOptions struct {
	from, to string
	tasks    []string
}

func (o *gapsOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.tasks, "task", nil, "of this `TASK` (repeatable), as an argument says it too")
	f.StringVar(&o.from, "from", "", "from this execute `DATE` on")
	f.StringVar(&o.to, "to", "", "until this execute `DATE`, included")
}

func runGaps(ctx context.Context, a *app, c *cobra.Command, o gapsOptions, names []string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	from, to, err := o.span(a, c, where)
	if err != nil {
		return err
	}
	led, err := a.openListed(ctx, where)
	if err != nil {
		return err
	}
	if led != nil {
		defer led.Close() // it was only read
	}
	names, err = gapTasks(ctx, where, led, append(names, o.tasks...))
	if err != nil {
		return causeOf(ctx, err)
	}
	if len(names) == 0 {
		a.p.note("no task has a schedule: name a task, or give it a schedule in %s", configName)
	}
	finder, err := a.newGapFinder(ctx, where, led)
	if err != nil {
		return causeOf(ctx, err)
	}
	var gaps []gapJSON
	for _, name := range names {
		found, err := finder.of(ctx, name, from, to)
		if err != nil {
			return causeOf(ctx, err)
		}
		gaps = append(gaps, found...)
	}
	if err := a.printGaps(where, gaps); err != nil {
		return err
	}
	if slices.ContainsFunc(gaps, func(g gapJSON) bool { return !g.worked() }) {
		return &errReported{exitFailed}
	}
	if len(gaps) == 0 && len(names) > 0 && a.p.form.forPeople() {
		a.p.note("no gaps")
	}
	return nil
}

func (o *gapsOptions) span(a *app, c *cobra.Command, where located) (from, to string, err error) {
	for _, end := range []struct {
		flag, text string
		into       *string
	}{{"from", o.from, &from}, {"to", o.to, &to}} {
		if !c.Flags().Changed(end.flag) {
			continue
		}
		if *end.into, err = parseDate(end.text, a.now(), where.zone); err != nil {
			return "", "", err
		}
	}
	if from != "" && to != "" && to < from {
		return "", "", usagef("--to %s is before --from %s", to, from)
	}
	return from, to, nil
}

// gapTasks are the tasks asked for, each of which somebody must know, else
// those with a schedule.
func gapTasks(ctx context.Context, where located, led *ledger.Ledger, names []string) ([]string, error) {
	for _, name := range names {
		switch {
		case where.task(name) != nil:
		case led != nil:
			if err := knownTask(ctx, where, led, name); err != nil {
				return nil, err
			}
		case where.config != nil:
			_, err := where.config.Task(name)
			return nil, asUsage(err)
		default:
			return nil, withHint(usagef("there is no task %q", name), "there is neither a ledger nor a %s", configName)
		}
	}
	if len(names) == 0 {
		names = where.scheduled(nil)
	}
	return slices.Compact(names), nil
}

// printGaps prints a row a date, and for people below the table what to do.
func (a *app) printGaps(where located, gaps []gapJSON) error {
	if err := list(a.p, gapColumns(where.zone, a.p.form != formTable), all(gaps)); err != nil || a.p.form != formTable {
		return err
	}
	var steps []string
	first := map[string]bool{}
	for _, g := range gaps {
		switch {
		case g.worked():
		case g.State != stateMissing || where.task(g.TaskName) == nil:
			steps = append(steps, g.TaskName+" "+g.ExecuteDate+": "+g.Command)
		case !first[g.TaskName]: // one line for all of the task
			first[g.TaskName] = true
			steps = append(steps, g.TaskName+": runner run "+shellWord(g.TaskName)+" --catch-up --since "+g.ExecuteDate)
		}
	}
	if len(steps) > 0 {
		a.p.blank()
	}
	for _, text := range steps {
		if err := a.p.say("%s", text); err != nil {
			return err
		}
	}
	return nil
}

func gapColumns(loc *time.Location, whole bool) []column[gapJSON] {
	columns := []column[gapJSON]{
		{name: "TASK", cell: func(g gapJSON) string { return g.TaskName }, wide: true},
		{name: "DATE", cell: func(g gapJSON) string { return g.ExecuteDate }},
		{name: "STATE", cell: func(g gapJSON) string { return g.State }, tint: gapJSON.tint},
		{name: "WHY", cell: func(g gapJSON) string { return g.Why }, wide: true},
		{name: "DUE", cell: func(g gapJSON) string { return g.DueAt.in(loc) }, spare: 1},
		{name: "ZONE", cell: func(g gapJSON) string { return g.TimeZone }, wide: true, spare: 2},
	}
	if whole {
		columns = append(columns, column[gapJSON]{name: "COMMAND", cell: func(g gapJSON) string { return g.Command }})
	}
	return columns
}

func (g gapJSON) tint(p palette) *color.Color {
	if g.State == stateMissing {
		return p.bad
	}
	return statusJSON{State: g.State}.tint(p)
}
