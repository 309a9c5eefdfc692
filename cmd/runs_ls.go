package cmd

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
)

func newRunsLsCmd(a *app) *cobra.Command {
	var o runsLsOptions
	c := &cobra.Command{
		Use:   "ls",
		Short: "List invocations, newest first",
		Long: `List invocations, newest first. One that has not ended is live or dead; what a
dead one left is settled by the next run. What is cut off by --limit is said on
stderr, with the cursor to go on from. No ledger is an empty list.

EXIT STATUS
  0 printed, 2 usage is wrong, 7 the ledger can't be used.`,
		Example: `  runner runs ls --task grant-coupon --date yesterday
  runner runs ls --live -o json`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return runRunsLs(c.Context(), a, c, o) },
	}
	o.addFlags(c)
	return c
}

type runsLsOptions struct {
	task, date string
	live       bool
	pageFlags
}

func (o *runsLsOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.task, "task", "", "of this `TASK`")
	f.StringVar(&o.date, "date", "", "of this execute `DATE` ("+dateForms[len("use "):]+")")
	f.BoolVar(&o.live, "live", false, "only those that are alive")
	o.add(c)
}

func runRunsLs(ctx context.Context, a *app, c *cobra.Command, o runsLsOptions) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	q, err := o.query(a, c, where)
	if err != nil {
		return err
	}
	led, err := a.openListed(ctx, where)
	if err != nil {
		return err
	}
	if led == nil {
		return errors.Join(list(a.p, runColumns(where.zone), all[runJSON](nil)), a.warnUnknown(ctx, where, nil, o.task))
	}
	defer led.Close() // it was only read
	runs := &listing[runJSON]{what: "runs", size: runsPage, limit: o.limit, before: q.Before}
	runs.page = func(ctx context.Context, before int64, n int) ([]listed[runJSON], error) {
		q := q
		q.Before, q.Limit = before, n
		return runsPageOf(ctx, led, q, o.live)
	}
	if err := runs.print(ctx, a.p, runColumns(where.zone)); err != nil || runs.shown > 0 {
		return err
	}
	return a.warnUnknown(ctx, where, led, o.task)
}

const runsPage = 200 // a run has its definition with it

// runsPageOf reads runs, and finds out which are alive.
func runsPageOf(ctx context.Context, led *ledger.Ledger, q ledger.RunQuery, live bool) (page []listed[runJSON], err error) {
	var list []ledger.Run
	err = led.Store().View(ctx, func(r ledger.Reader) (err error) {
		list, err = r.Runs(q)
		return err
	})
	for _, r := range list {
		state, err := runState(ctx, led, &r, runsDirOf(led))
		if err != nil {
			return page, err
		}
		page = append(page, listed[runJSON]{cursor: r.No, hidden: live && state != runLive, row: newRun(r, state)})
	}
	return page, err
}

func (o *runsLsOptions) query(a *app, c *cobra.Command, where located) (q ledger.RunQuery, err error) {
	q = ledger.RunQuery{TaskName: o.task, OpenOnly: o.live}
	f := c.Flags()
	if f.Changed("task") && o.task == "" {
		return q, usagef("--task is empty")
	}
	if f.Changed("date") {
		if q.ExecuteDate, err = parseDate(o.date, a.now(), where.zone); err != nil {
			return q, err
		}
	}
	q.Before, err = o.before(c)
	return q, err
}

// runState tells whether a run is alive. One that has just ended looks dead
// until its row is read again.
func runState(ctx context.Context, led *ledger.Ledger, r *ledger.Run, runsDir string) (string, error) {
	switch {
	case !r.EndedAt.IsZero():
		return runEnded, nil
	case runner.Live(*r, runsDir, led.Now()):
		return runLive, nil
	}
	err := led.Store().View(ctx, func(rd ledger.Reader) error {
		again, err := rd.Runs(ledger.RunQuery{ID: r.ID})
		if len(again) > 0 {
			*r = again[0]
		}
		return err
	})
	if err == nil && !r.EndedAt.IsZero() {
		return runEnded, nil
	}
	return runDead, err
}

func runColumns(loc *time.Location) []column[runJSON] {
	return []column[runJSON]{
		{name: "RUN", cell: func(r runJSON) string { return r.RunID }, wide: true},
		{name: "TASK", cell: func(r runJSON) string { return r.TaskName }, wide: true},
		{name: "DATE", cell: func(r runJSON) string { return r.ExecuteDate }},
		{name: "COMMAND", cell: func(r runJSON) string { return r.Command }, spare: 3},
		{name: "RESULT", cell: runJSON.outcome, tint: runJSON.tint},
		{name: "STARTED", cell: func(r runJSON) string { return r.StartedAt.in(loc) }, spare: 1},
		{name: "TOOK", cell: func(r runJSON) string { return shortSpan(r.DurationMS) }, spare: 4},
		{name: "EXECUTED", cell: runJSON.executed, spare: 5},
		{name: "COUNTS", cell: runJSON.counts, wide: true, spare: 2},
		{name: "HOST", cell: func(r runJSON) string { return r.Host }, wide: true, spare: 6},
		{name: "PID", cell: func(r runJSON) string { return strconv.Itoa(r.PID) }, spare: 7},
		{name: "VERSION", cell: func(r runJSON) string { return r.Version }, wide: true, spare: 8},
	}
}

func (r runJSON) tint(p palette) *color.Color {
	switch r.outcome() {
	case string(runner.Complete):
		return p.good
	case runLive:
		return p.busy
	case string(runner.SomeInDoubt):
		return p.doubt
	case string(runner.SomeFailed), string(runner.Halted), string(runner.LedgerError), runDead, "died":
		return p.bad
	}
	return p.dim
}
