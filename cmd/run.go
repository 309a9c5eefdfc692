package cmd

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"runner/runner"
	"runner/tasks"
)

func newRunCmd(a *app) *cobra.Command {
	o := runOptions{flowOptions: newFlowOptions()}
	c := &cobra.Command{
		Use:   "run TASK",
		Short: "Do what is not done yet",
		Long: `Do, for each record of the task's input, what is not done yet on the execute
date. What is done is skipped, what was cut off goes on. What failed for good
stays failed: runner rerun tries it again.

Nothing is executed before the whole input, of all dates, has been read and found
valid. When all goes well and nobody looks (stderr is no terminal), nothing is
printed.

What the batch holds besides the input is left alone, and said if it keeps the
date from being complete. Only the checks of records in doubt among it are asked,
as runner recover does; not with --from, --biz-id, --shard or --limit.

With --catch-up the dates are those that runner gaps lists and on which a run
can do something, the oldest first. Those that wait for a person, because records
failed or are in doubt, are named on stderr and count for the exit code. So are
those whose input can't be read or is not valid: nothing is done on them, and the
others run. On a date for which a task that this one needs is not complete
nothing is read, planned or started.

EXIT STATUS
  0 complete, 1 some records failed, 2 usage, configuration or input is wrong
  and nothing was executed (with --catch-up: on the dates with a wrong input), 3
  records in doubt need a person, 4 halted, 5 busy or waiting, 6 blocked by a
  task that this one needs, 7 the ledger can't be used, 129, 130, 143
  interrupted.`,
		Example: `  runner run grant-coupon --date yesterday
  runner run grant-coupon --catch-up --max-dates 7 --wait-needs 30m
  runner run grant-coupon --from late-users.csv -j 4 -o json`,
		Args: exactly("TASK"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.noticing(c, o.noticeOptions, args, func(n *notices) error {
				return a.reporting(args[0], c, func() error { return runRun(c.Context(), a, c, o, args[0], n) })
			})
		},
	}
	o.addFlags(c)
	f := c.Flags()
	f.BoolVar(&o.catchUp, "catch-up", false, "run the dates that never ran or are not complete, the oldest first")
	f.StringVar(&o.since, "since", "", "catch up from this `DATE` on (default: schedule_since, else the first date in the ledger)")
	f.Lookup("max-dates").Usage = "refuse ranges of more than `N` dates; of those to catch up with, run the first N"
	o.waitNeeds.addFlag(c)
	return c
}

// runOptions are the flags of run; exec has them too.
type runOptions struct {
	flowOptions
	set                []string
	desc               bool
	date, from, format string
	bizIDs             []string
	jobs, retries      int
	limit              int64
	timeout            time.Duration
	dryRun, allowEmpty bool
	maxDates           int

	// Of run alone.
	catchUp   bool
	since     string
	waitNeeds waitNeeds
}

func (o *runOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.date, "date", "today", "execute `DATE`: today, yesterday, -3d, 2026-11-28, 2026-11 or A..B")
	f.BoolVar(&o.desc, "desc", false, "newest date first")
	f.IntVar(&o.maxDates, "max-dates", maxDates, "refuse ranges of more than `N` dates")
	f.StringVar(&o.from, "from", "", "read the records from this `FILE`; - is stdin")
	f.StringVar(&o.format, "format", "", "`FORMAT` of it: lines, csv or jsonl (default: by its ending)")
	f.StringArrayVar(&o.bizIDs, "biz-id", nil, "only the record with this `ID` (repeatable)")
	f.StringArrayVar(&o.set, "set", nil, "give every record the field `NAME=VALUE` (repeatable)")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "records at a time (default: the task's, else the number of CPUs)")
	f.Int64Var(&o.limit, "limit", 0, "start at most `N` records; 0: all")
	f.DurationVar(&o.timeout, "timeout", 0, "end an attempt after this `TIME`; 0: never (default: the task's, else 1h)")
	f.IntVar(&o.retries, "retries", 0, "try a failed record `N` times more in one go (default: the task's, else 2)")
	f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be done (each record: -v or -o jsonl)")
	f.BoolVar(&o.allowEmpty, "allow-empty", false, "an input without records is right")
	o.flowOptions.addFlags(c)
	completeWith(c, "format", tasks.FormatLines, tasks.FormatCSV, tasks.FormatJSONL)
}

func (o *runOptions) check(c *cobra.Command) error {
	f := c.Flags()
	switch {
	case f.Changed("jobs") && o.jobs < 1:
		return usagef("--jobs %d: at least 1 is needed", o.jobs)
	case o.limit < 0:
		return usagef("--limit %d is negative", o.limit)
	case o.retries < 0:
		return usagef("--retries %d is negative", o.retries)
	case o.timeout < 0:
		return usagef("--timeout %s is negative", o.timeout)
	case f.Changed("from") && o.from == "":
		return usagef("--from is empty")
	case o.wait < 0:
		return usagef("--wait %s is negative", o.wait)
	case !slices.Contains([]string{"", tasks.FormatLines, tasks.FormatCSV, tasks.FormatJSONL}, o.format):
		return withHint(usagef("--format %q is not known", o.format), "use lines, csv or jsonl")
	}
	return nil
}

func runRun(ctx context.Context, a *app, c *cobra.Command, o runOptions, name string, n *notices) error {
	if err := errors.Join(o.check(c), o.checkCatchUp(c)); err != nil {
		return err
	}
	where, err := a.locate(true)
	if err != nil {
		return err
	}
	t, err := where.config.Task(name)
	if err != nil {
		return asUsage(err)
	}
	dates, err := o.dates(a, where)
	if err != nil {
		return err
	}
	n.know(where)
	built, err := o.build(c, t)
	if err != nil {
		return err
	}
	opts := o.jobOptions("run", c, len(dates), n)
	opts.whole = o.from == "" && len(o.bizIDs) == 0 && o.shard == "" && o.limit == 0
	if o.catchUp {
		u, err := o.missedDates(ctx, a, where, built)
		if err != nil {
			return err
		}
		dates, opts.held, opts.several = u.dates, u.held, true
	}
	reading, stop := interruptible(ctx)
	defer stop()
	blocked, err := a.waitForNeeds(reading, where, t, dates, o.waitNeeds.unless(o.dryRun))
	if err != nil {
		return err
	}
	ready, err := o.read(reading, a, t, built, dates, blocked)
	defer closeSources(ready)
	if err != nil {
		return err
	}
	return a.runJobs(ctx, where, ready, opts)
}

// build makes the task ready, with what the flags say of it.
func (o *runOptions) build(c *cobra.Command, t *tasks.Task) (runner.Task, error) {
	if c.Flags().Changed("timeout") {
		if err := t.SetTimeout(o.timeout); err != nil {
			return runner.Task{}, asUsage(err)
		}
	}
	built, err := t.Build(o.jobs)
	if err != nil {
		return built, asUsage(err)
	}
	if err := o.override(c, &built); err != nil {
		return built, err
	}
	return built, prepared(built, nil)
}

// override takes over what the flags say of the task.
func (o *runOptions) override(c *cobra.Command, t *runner.Task) error {
	if c.Flags().Changed("retries") {
		t.Policy.Attempts = o.retries + 1
	}
	t.Definition.Policy = t.Policy
	t.AllowEmpty = t.AllowEmpty || o.allowEmpty
	return o.flowOptions.override(c, t)
}

// dates are what --date says, in the order in which they are to be run.
func (o *runOptions) dates(a *app, where located) ([]string, error) {
	dates, err := parseDates(o.date, a.now(), where.zone, o.maxDates)
	if o.desc {
		slices.Reverse(dates)
	}
	return dates, err
}

func (o *runOptions) jobOptions(command string, c *cobra.Command, dates int, n *notices) jobOptions {
	return jobOptions{
		notices: n,
		command: command, limit: o.limit, dryRun: o.dryRun, several: dates > 1,
		show: o.bizIDs, asked: c.Flags().Changed("output"), progress: o.progress.value,
		fill: func(r *runner.Options) { o.fill(c, r) },
	}
}
