package cmd

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
)

func newRunsLsCmd(a *app) *cobra.Command {
	o := runsLsOptions{limit: 50}
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
	task, date, after string
	limit             int
	live              bool
}

func (o *runsLsOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.task, "task", "", "of this `TASK`")
	f.StringVar(&o.date, "date", "", "of this execute `DATE` ("+dateForms[len("use "):]+")")
	f.BoolVar(&o.live, "live", false, "only those that are alive")
	f.IntVar(&o.limit, "limit", o.limit, "at most `N` of them; 0: all")
	f.StringVar(&o.after, "after", "", "go on after this `CURSOR`")
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
		return list(a.p, runColumns(where.zone), all[runJSON](nil))
	}
	defer led.Close() // it was only read
	pages := &runPages{led: led, query: q, limit: o.limit, live: o.live, runsDir: runsDirOf(led)}
	if err := list(a.p, runColumns(where.zone), pages.rows(ctx)); err != nil {
		return causeOf(ctx, err)
	}
	switch {
	case pages.cut:
		a.p.note("the first %d are shown; go on with --after %d, or --limit 0 for all", pages.shown, pages.last)
	case pages.shown == 0 && a.p.form.forPeople():
		a.p.note("no runs match")
	}
	return nil
}

func (o *runsLsOptions) query(a *app, c *cobra.Command, where located) (q ledger.RunQuery, err error) {
	q = ledger.RunQuery{TaskName: o.task, OpenOnly: o.live}
	f := c.Flags()
	switch {
	case o.limit < 0:
		return q, usagef("--limit %d is negative", o.limit)
	case f.Changed("task") && o.task == "":
		return q, usagef("--task is empty")
	}
	if f.Changed("date") {
		if q.ExecuteDate, err = parseDate(o.date, a.now(), where.zone); err != nil {
			return q, err
		}
	}
	if f.Changed("after") {
		if q.Before, err = strconv.ParseInt(o.after, 10, 64); err != nil || q.Before < 1 {
			return q, withHint(usagef("--after %q is no cursor", o.after), "take the one that the previous page printed")
		}
	}
	return q, nil
}

// runPages reads a listing of runs in pages.
type runPages struct {
	led     *ledger.Ledger
	query   ledger.RunQuery // Before moves on
	limit   int
	live    bool
	runsDir string
	shown   int
	last    int64 // the cursor
	cut     bool
}

const runsPage = 200 // a run has its definition with it

func (l *runPages) rows(ctx context.Context) iter.Seq2[runJSON, error] {
	return func(yield func(runJSON, error) bool) {
		l.query.Limit = runsPage
		for {
			var page []ledger.Run
			err := l.led.Store().View(ctx, func(r ledger.Reader) (err error) {
				page, err = r.Runs(l.query)
				return err
			})
			for _, r := range page {
				l.query.Before = r.No
				var state string
				if state, err = runState(ctx, l.led, &r, l.runsDir); err != nil {
					break
				}
				if l.live && state != runLive {
					continue
				}
				if l.cut = l.limit > 0 && l.shown == l.limit; l.cut || !yield(newRun(r, state), nil) {
					return
				}
				l.shown++
				l.last = r.No
			}
			if err != nil {
				yield(runJSON{}, err)
			}
			if err != nil || len(page) < runsPage {
				return
			}
		}
	}
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
		{name: "RUN", cell: func(r runJSON) string { return r.RunID }},
		{name: "TASK", cell: func(r runJSON) string { return r.TaskName }, wide: true},
		{name: "DATE", cell: func(r runJSON) string { return r.ExecuteDate }},
		{name: "COMMAND", cell: func(r runJSON) string { return r.Command }},
		{name: "RESULT", cell: runJSON.outcome, tint: runJSON.tint},
		{name: "STARTED", cell: func(r runJSON) string { return r.StartedAt.in(loc) }},
		{name: "TOOK", cell: func(r runJSON) string { return shortSpan(r.DurationMS) }},
		{name: "EXECUTED", cell: runJSON.executed},
		{name: "COUNTS", cell: runJSON.counts},
		{name: "HOST", cell: func(r runJSON) string { return r.Host }},
		{name: "PID", cell: func(r runJSON) string { return strconv.Itoa(r.PID) }},
		{name: "VERSION", cell: func(r runJSON) string { return r.Version }},
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
