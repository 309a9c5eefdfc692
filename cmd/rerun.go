package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
)

func newRerunCmd(a *app) *cobra.Command {
	var o rerunOptions
	c := &cobra.Command{
		Use:   "rerun [TASK…]",
		Short: "Try failed (default) or chosen records of a date again",
		Long: `Try records of a date again: those that failed, or those chosen by --status,
--biz-id, --ids-from and --error-like, which all must fit. It works on exactly
these and reads no source: each goes on with the fields it had, unless
--fresh-input takes those that the task's source has now. Without TASK, all
tasks that have such records on the date. A task that is not in runner.yaml
runs as its last run was defined.

Records in doubt are repeated, and done ones done again, only with --yes or
after a question. Done records get a new generation, and with it a new
idempotency key; repeating the line redoes nothing.

EXIT STATUS
  0 complete, or nothing was chosen; 1 some failed again, 2 usage is wrong or
  an id is not known and nothing was executed, 3 records in doubt need a
  person, 4 halted, 5 a chosen record is running, or busy or waiting, 6 blocked
  by a task that this one needs, 7 the ledger can't be used, 129, 130, 143
  interrupted.`,
		Example: `  runner rerun --date yesterday
  runner rerun grant-coupon --date 2026-11-28 --error-like 'HTTP 503' --fresh-input
  runner rerun grant-coupon --date 2026-11-28 --status in_doubt --biz-id u-1001 --yes`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.noticing(c, o.noticeOptions, args, func(n *notices) error {
				return a.reporting(strings.Join(args, " "), c, func() error { return runRerun(c.Context(), a, c, o, args, n) })
			})
		},
	}
	o.addFlags(c)
	return c
}

type rerunOptions struct {
	selector
	generation int
	jobs       int
	wait       time.Duration
	freshInput bool
	waitNeeds  waitNeeds
	noticeOptions
}

func (o *rerunOptions) addFlags(c *cobra.Command) {
	o.selector.addFlags(c, "default failed; with ids failed, in_doubt and skipped")
	f := c.Flags()
	f.IntVar(&o.generation, "generation", 1, "with --status done: those done in generation `N` are done again in the next")
	f.BoolVar(&o.freshInput, "fresh-input", false, "take the fields that the task's source has now; not for records in doubt")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "records at a time (default: the task's, else the number of CPUs)")
	f.DurationVar(&o.wait, "wait", 0, "wait at most `TIME` for records that others hold (default: as long as an attempt can take; for survivors of dead runs not at all)")
	o.waitNeeds.addFlag(c)
	o.noticeOptions.addFlags(c)
}

func runRerun(ctx context.Context, a *app, c *cobra.Command, o rerunOptions, names []string, n *notices) error {
	if o.generation < 1 || o.wait < 0 || c.Flags().Changed("jobs") && o.jobs < 1 {
		return usagef("--generation and --jobs are at least 1, --wait is not negative")
	}
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	sel, err := o.selection(a, c, where, []ledger.Status{ledger.Failed, ledger.InDoubt, ledger.Skipped}, []ledger.Status{ledger.Failed})
	if err != nil {
		return err
	}
	sel.Generation = o.generation
	n.know(where)
	led, runsDir, err := a.openChoosing(ctx, where, o.dryRun)
	if err != nil {
		return err
	}
	var picks []chosen
	if led != nil {
		defer led.Close() // every transaction is durable already
		if picks, err = a.pick(ctx, where, led, sel, o, names); err != nil {
			return err
		}
	}
	if len(picks) == 0 {
		return a.nothingToRerun(ctx, where, led, sel, names)
	}
	insist, err := a.insist(ctx, o, picks)
	if err != nil {
		return err
	}
	return a.rerun(ctx, where, led, runsDir, c, o, picks, insist, n)
}

// pick chooses the records of each task, and reads what fresh input they take.
func (a *app) pick(ctx context.Context, where located, led *ledger.Ledger, sel ledger.Selection, o rerunOptions, names []string) (picks []chosen, err error) {
	if len(names) == 0 {
		if names, err = tasksOn(ctx, led, sel.ExecuteDate); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if err := knownTask(ctx, where, led, name); err != nil {
			return nil, err
		}
		sel.TaskName = name
		p, err := a.choose(ctx, where, led, sel, o)
		if err != nil {
			return nil, err
		}
		if len(p.ids) == 0 {
			continue
		}
		if o.freshInput {
			if err := a.readFresh(where, &p); err != nil {
				return nil, err
			}
		}
		picks = append(picks, p)
	}
	return picks, nil
}

// knownTask fails for a task that is neither configured nor in the ledger: a
// misspelt name is not a task without failures.
func knownTask(ctx context.Context, where located, led *ledger.Ledger, name string) error {
	_, err := led.Definition(ctx, name, "")
	if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	if where.config != nil {
		_, err := where.config.Task(name)
		if err != nil {
			return asUsage(err)
		}
		return nil
	}
	return withHint(usagef("there is no task %q in the ledger", name), "runner ledger stats lists those there are")
}

// warnUnknown says of tasks of which nothing was listed that nobody knows them: a
// listing is empty for a misspelt name, and not wrong.
func (a *app) warnUnknown(ctx context.Context, where located, led *ledger.Ledger, names ...string) error {
	for _, name := range names {
		if name == "" || where.task(name) != nil {
			continue
		}
		var err error
		switch {
		case led != nil:
			batches, berr := led.Batches(ctx, name, "", "")
			if err = berr; err == nil && len(batches) == 0 {
				err = knownTask(ctx, where, led, name)
			}
		case where.config != nil:
			_, err = where.config.Task(name)
		}
		if err != nil && !isUsage(err) {
			return causeOf(ctx, err)
		}
		if err != nil {
			a.p.warn(err.Error(), hintOf(err))
		}
	}
	return nil
}

// nothingToRerun says that nothing was chosen, and what there would be.
func (a *app) nothingToRerun(ctx context.Context, where located, led *ledger.Ledger, sel ledger.Selection, names []string) error {
	a.p.note("nothing to rerun: no record of %s matches", sel.ExecuteDate)
	var sums []summaryJSON
	for _, name := range names {
		s := runner.Summary{TaskName: name, ExecuteDate: sel.ExecuteDate, TimeZone: where.zoneName, Result: runner.Complete}
		sums = append(sums, newSummary(s, nil))
		if led == nil {
			continue
		}
		err := led.Store().View(ctx, func(r ledger.Reader) error {
			b, err := r.Batch(name, sel.ExecuteDate)
			if err != nil {
				return nil //nolint:nilerr // there is nothing to tell then
			}
			for _, s := range []ledger.Status{ledger.Failed, ledger.InDoubt, ledger.Skipped} {
				if n := b.Counts[s]; n > 0 && !slices.Contains(sel.Statuses, s) {
					a.p.note("%s has %s %s: --status %s chooses them", name, plural(n, "record"), strings.ReplaceAll(s.String(), "_", " "), s)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if a.p.form == formTable {
		return nil
	}
	return a.printSummaries(sums, len(names) != 1, true)
}

func (a *app) rerun(ctx context.Context, where located, led *ledger.Ledger, runsDir string, c *cobra.Command, o rerunOptions, picks []chosen, insist bool, n *notices) (err error) {
	opts := jobOptions{command: "rerun", dryRun: o.dryRun, several: len(picks) > 1, show: o.bizIDs, asked: c.Flags().Changed("output"), notices: n}
	if c.Flags().Changed("wait") {
		opts.fill = func(r *runner.Options) { r.Wait = &o.wait }
	}
	ready := make([]job, len(picks))
	for i, p := range picks {
		ready[i] = job{task: p.def, date: p.task.ExecuteDate, records: p.ids}
		if t := where.task(p.task.TaskName); t != nil {
			ready[i].needs = t.Needs
			if ready[i].blocked, err = a.waitToRerun(ctx, where, t, p.task.ExecuteDate, o.waitNeeds.unless(o.dryRun)); err != nil {
				return err
			}
		}
	}
	d := ledger.Decision{Actor: actor(), Reason: "rerun", Insist: insist, Generation: o.generation}
	for i, p := range picks {
		if len(ready[i].blocked) > 0 {
			continue
		}
		if err := a.release(ctx, led, o, p, d); err != nil {
			return err
		}
	}
	if o.dryRun {
		return a.previewOn(ctx, where, led, ready, opts)
	}
	return a.runOn(ctx, where, led, runsDir, ready, opts)
}

// release makes chosen records runnable again.
func (a *app) release(ctx context.Context, led *ledger.Ledger, o rerunOptions, p chosen, d ledger.Decision) (err error) {
	var changed int64
	var refused []error
	switch {
	case o.freshInput && o.dryRun:
		planned, err := led.Preview(ctx, p.batch, p.fresh)
		if err != nil {
			return err
		}
		for _, r := range planned {
			if r.Changed {
				changed++
			}
		}
		a.p.note("%s %s: the source has other fields for %d of %s", p.task.TaskName, p.task.ExecuteDate, changed, plural(int64(len(p.ids)), "record"))
		return nil
	case o.dryRun:
		return nil
	case o.freshInput:
		d.Reason = "fresh input"
		changed, refused, err = led.RerunFresh(ctx, p.batch, p.fresh, d, p.def.Policy)
		a.p.note("%s %s: fresh input changed the fields of %d of %s", p.task.TaskName, p.task.ExecuteDate, changed, plural(int64(len(p.ids)), "record"))
	default:
		refused, err = led.Rerun(ctx, p.ids, d, p.def.Policy)
	}
	a.sayRefused(refused)
	return err
}
