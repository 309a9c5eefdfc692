package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

// catchUp is what run --catch-up works on.
type catchUp struct {
	dates []string
	held  []outcomeFacts // of dates on which only a person can do something
}

func (o *runOptions) checkCatchUp(c *cobra.Command) error {
	f := c.Flags()
	switch {
	case !o.catchUp && f.Changed("since"):
		return withHint(usagef("--since is for --catch-up"), "name the dates with --date A..B, or add --catch-up")
	case o.catchUp && f.Changed("date"):
		return withHint(usagef("--catch-up and --date exclude each other"), "--catch-up --since D takes what is missing from D on")
	case o.catchUp && (o.from != "" || len(o.bizIDs) > 0):
		return usagef("--catch-up works on the task's own records: --from and --biz-id are for single dates")
	case o.maxDates < 1:
		return usagef("--max-dates %d: at least 1 is needed", o.maxDates)
	}
	return nil
}

// missedDates finds the dates to catch up with: the oldest of those that never
// ran or have something left that a run can do.
func (o *runOptions) missedDates(ctx context.Context, a *app, where located, t runner.Task) (u catchUp, err error) {
	since := ""
	if o.since != "" {
		if since, err = parseDate(o.since, a.now(), where.zone); err != nil {
			return u, err
		}
	}
	led, err := a.openReader(ctx, where)
	switch {
	case errors.Is(err, ledger.ErrNoLedger):
		led = nil
	case err != nil:
		return u, err
	default:
		defer led.Close() // it was only read
	}
	finder, err := a.newGapFinder(ctx, where, led)
	if err != nil {
		return u, err
	}
	gaps, err := finder.of(ctx, t.Name, since, "")
	if err != nil {
		return u, err
	}
	var held []string
	for _, g := range gaps {
		switch {
		case g.worked(): // by another run
		case g.State == stateMissing || runnable(g.batch, t.Policy):
			u.dates = append(u.dates, g.ExecuteDate)
		default:
			c := g.batch.Counts
			u.held = append(u.held, outcomeFacts{Failed: c[ledger.Failed], InDoubt: c[ledger.InDoubt]})
			held = append(held, g.ExecuteDate)
		}
	}
	o.sayCatchUp(a, t.Name, held, len(u.dates))
	u.dates = u.dates[:min(len(u.dates), o.maxDates)]
	if o.desc {
		slices.Reverse(u.dates)
	}
	return u, nil
}

// leaves tells whether a date is left because of what is wrong with its input,
// and the others run: those of a catch-up have nothing to do with each other,
// and the night must not be lost for one file. An input on stdin is that of all.
func (o *runOptions) leaves(t *tasks.Task, err error) bool {
	return o.catchUp && isUsage(err) && !t.ReadsStdin()
}

// unfit is the run of a job whose input can't be used.
func (a *app) unfit(where located, j job) runner.Summary {
	now := a.now().UTC()
	return runner.Summary{
		TaskName: j.task.Name, ExecuteDate: j.date, TimeZone: where.zoneName, Result: runner.Invalid,
		Error: j.unfit.Error(), StartedAt: now, EndedAt: now,
	}
}

func (a *app) sayUnfit(j job) {
	a.p.problem(j.task.Name+" "+j.date+" was left, for its input can't be used: "+oneLine(j.unfit.Error()), hintOf(j.unfit))
}

// runnable tells whether a plain run would do anything for a batch.
func runnable(b ledger.Batch, p ledger.Policy) bool {
	return b.OpenPlanRun != "" || b.Open() > 0 || b.Counts[ledger.InDoubt] > 0 && (p.Check || p.Idempotent)
}

func (o *runOptions) sayCatchUp(a *app, task string, held []string, dates int) {
	if len(held) > 0 {
		a.p.problem("only a person can go on with "+plural(int64(len(held)), "date")+", where records failed or are in doubt: "+strings.Join(held[:min(len(held), maxTold)], ", "),
			"runner gaps "+shellWord(task)+a.sameFlags()+" lists them, with commands")
	}
	if left := dates - o.maxDates; left > 0 {
		a.p.note("left for the next time: %s (--max-dates %d)", plural(int64(left), "later date"), o.maxDates)
	}
	if dates == 0 && (o.dryRun || a.p.err.tty) {
		a.p.note("%s: nothing to catch up with", task)
	}
}
