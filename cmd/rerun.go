package cmd

import (
	"context"
	"errors"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
)

func newRerunCmd(a *app) *cobra.Command {
	var o rerunOptions
	c := &cobra.Command{
		Use:   "rerun [TASK…]",
		Short: "Try failed (default) or chosen records of a date again",
		Long: `Try records of a date again: those that failed, or those chosen by --status and
--biz-id. It works on exactly these and reads no source: each goes on with the
fields it had. Without TASK, all tasks that have such records on the date. A
task that is not in runner.yaml runs as its last run was defined.

Records in doubt are repeated, and done ones done again, only with --yes or
after a question. Done records get a new generation, and with it a new
idempotency key; repeating the line redoes nothing.

EXIT STATUS
  0 complete, or nothing was chosen; 1 some failed again, 2 usage is wrong or
  an id is not known and nothing was executed, 3 records in doubt need a
  person, 4 halted, 5 a chosen record is running, or busy or waiting, 7 the
  ledger can't be used, 129, 130, 143 interrupted.`,
		Example: `  runner rerun --date yesterday
  runner rerun grant-coupon --date 2026-11-28 --status in_doubt --biz-id u-1001 --yes`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.reporting(strings.Join(args, " "), c, func() error { return runRerun(c.Context(), a, c, o, args) })
		},
	}
	o.addFlags(c)
	return c
}

type rerunOptions struct {
	date        string
	status      []string
	bizIDs      []string
	generation  int
	jobs        int
	limit       int
	yes, dryRun bool
}

func (o *rerunOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.date, "date", "", "execute `DATE` ("+dateForms[len("use "):]+")")
	f.StringSliceVar(&o.status, "status", nil, "choose those in these `STATUSES` (default failed; with --biz-id failed, in_doubt and skipped)")
	f.StringArrayVar(&o.bizIDs, "biz-id", nil, "choose the record with this `ID` (repeatable)")
	f.IntVar(&o.generation, "generation", 1, "with --status done: those done in generation `N` are done again in the next")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "records at a time (default: the task's, else the number of CPUs)")
	f.IntVar(&o.limit, "limit", 0, "choose at most `N` records of a task; 0: all")
	f.BoolVar(&o.yes, "yes", false, "don't ask")
	f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be done (each record: -v or -o jsonl)")
}

func runRerun(ctx context.Context, a *app, c *cobra.Command, o rerunOptions, names []string) error {
	statuses, err := o.statuses(c)
	if err != nil {
		return err
	}
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	date, err := parseDate(o.date, a.now(), where.zone)
	if err != nil {
		return err
	}
	open := a.openRerun
	if o.dryRun {
		open = a.openRerunReader
	}
	led, runsDir, err := open(ctx, where)
	if err != nil || led == nil {
		return err
	}
	defer led.Close() // every transaction is durable already
	if len(names) == 0 {
		if names, err = tasksOn(ctx, led, date); err != nil {
			return err
		}
	}
	var picks []chosen
	for _, name := range names {
		sel := ledger.Selection{TaskName: name, ExecuteDate: date, Statuses: statuses, BizIDs: o.bizIDs, Limit: o.limit, Generation: o.generation}
		p, err := a.choose(ctx, where, led, sel, o)
		if err != nil {
			return err
		}
		if len(p.ids) > 0 {
			picks = append(picks, p)
		}
	}
	if len(picks) == 0 {
		a.p.note("nothing to rerun: no record of %s matches", date)
		if a.p.form != formTable {
			return list(a.p, summaryColumns, all[summaryJSON](nil))
		}
		return nil
	}
	insist, err := a.insist(o, picks)
	if err != nil {
		return err
	}
	return a.rerun(ctx, where, led, runsDir, c, o, picks, insist)
}

func (o *rerunOptions) statuses(c *cobra.Command) ([]ledger.Status, error) {
	if o.generation < 1 || o.limit < 0 || c.Flags().Changed("jobs") && o.jobs < 1 {
		return nil, usagef("--generation and --jobs are at least 1, --limit is not negative")
	}
	if !c.Flags().Changed("date") {
		return nil, withHint(usagef("--date is missing"), "rerun never guesses a date: --date yesterday, --date 2026-11-28")
	}
	if len(o.status) == 0 {
		if len(o.bizIDs) > 0 {
			return []ledger.Status{ledger.Failed, ledger.InDoubt, ledger.Skipped}, nil
		}
		return []ledger.Status{ledger.Failed}, nil
	}
	var list []ledger.Status
	for _, name := range o.status {
		s, err := ledger.ParseStatus(name)
		if err != nil {
			return nil, asUsage(err)
		}
		if s == ledger.Running {
			return nil, usagef("--status running: a running record can't be rerun")
		}
		list = append(list, s)
	}
	return list, nil
}

// openRerun opens the ledger and settles what dead runs left, which may be
// what is to be chosen.
func (a *app) openRerun(ctx context.Context, where located) (*ledger.Ledger, string, error) {
	led, store, err := a.openWriter(ctx, where, false)
	if err != nil {
		return nil, "", err
	}
	rec, err := runner.Recover(ctx, led, store.RunsDir())
	if err != nil {
		_ = led.Close()
		return nil, "", err
	}
	a.sayRecovery(rec)
	return led, store.RunsDir(), nil
}

// openRerunReader opens the ledger for a dry run; nil if there is none.
func (a *app) openRerunReader(ctx context.Context, where located) (*ledger.Ledger, string, error) {
	led, err := a.openReader(ctx, where)
	if errors.Is(err, ledger.ErrNoLedger) {
		a.p.note("nothing to rerun: there is no ledger at %s yet", where.ledger)
		return nil, "", nil
	}
	return led, "", err
}

func (a *app) rerun(ctx context.Context, where located, led *ledger.Ledger, runsDir string, c *cobra.Command, o rerunOptions, picks []chosen, insist bool) error {
	opts := jobOptions{command: "rerun", dryRun: o.dryRun, several: len(picks) > 1, show: o.bizIDs, asked: c.Flags().Changed("output")}
	ready := make([]job, len(picks))
	for i, p := range picks {
		ready[i] = job{task: p.def, date: p.task.ExecuteDate, records: p.ids}
	}
	if o.dryRun {
		return a.previewOn(ctx, where, led, ready, opts)
	}
	d := ledger.Decision{Actor: actor(), Reason: "rerun", Insist: insist, Generation: o.generation}
	for _, p := range picks {
		refused, err := led.Rerun(ctx, p.ids, d, p.def.Policy)
		if err != nil {
			return err
		}
		for _, r := range refused { // another hand was faster
			a.p.warn(r.Error(), "")
		}
	}
	return a.runOn(ctx, where, led, runsDir, ready, opts)
}

// actor names the person behind a decision.
func actor() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}
