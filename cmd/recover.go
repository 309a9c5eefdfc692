package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
)

func newRecoverCmd(a *app) *cobra.Command {
	var o recoverOptions
	c := &cobra.Command{
		Use:   "recover [TASK…]",
		Short: "Settle what dead runs left, without running anything new",
		Long: `Settle what dead runs left, as every run does when it starts, and ask the checks
of records in doubt, of all tasks or some. Nothing is started and nothing
compensated. It needs the ledger only: no runner.yaml, no folder.

An attempt that outlived its runner keeps its record running until it has
ended. --kill ends its process group first: TERM, and KILL 5 s later.

EXIT STATUS
  0 nothing is left to settle, 2 usage is wrong, 3 records in doubt need a
  person, 5 attempts of dead runs are still alive, 7 the ledger can't be used,
  129, 130, 143 interrupted.`,
		Example: `  runner recover
  runner recover pay --kill --ledger /srv/pay/.runner/ledger.db`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.reporting("", c, func() error { return runRecover(c.Context(), a, o, args) })
		},
	}
	c.Flags().BoolVar(&o.kill, "kill", false, "end what is left of attempts whose runners died")
	return c
}

type recoverOptions struct{ kill bool }

// recoveryJSON is what recovering did. Its names are an interface.
type recoveryJSON struct {
	Runs      []string       `json:"runs"`      // that had died and are over now
	Settled   countsJSON     `json:"settled"`   // where their records went
	Survivors []survivorJSON `json:"survivors"` // attempts that are still alive
	Leftovers []leftoverJSON `json:"leftovers"` // processes that left their attempt's group
	Asked     int64          `json:"asked"`     // records in doubt whose check was asked
	InDoubt   int64          `json:"in_doubt"`  // records that still are
}

type survivorJSON struct {
	ledger.Key
	RunID     string `json:"run_id"`
	PID       int    `json:"pid"`
	StartedAt stamp  `json:"started_at"`
	Overdue   bool   `json:"overdue"`
}

type leftoverJSON struct {
	ledger.Key
	PID int `json:"pid"`
}

func runRecover(ctx context.Context, a *app, o recoverOptions, names []string) error {
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	led, store, err := a.openWriter(ctx, where, false)
	if err != nil {
		return err
	}
	defer led.Close() // every transaction is durable already
	rec, err := a.recoverAll(ctx, led, store.RunsDir(), o.kill)
	if err != nil {
		return err
	}
	asked, left, facts, err := a.askDoubts(ctx, where, led, store.RunsDir(), names)
	if err != nil {
		return err
	}
	if err := a.sayRecovered(rec, asked, left); err != nil {
		return err
	}
	facts = append(facts, outcomeFacts{Busy: len(rec.Survivors) > 0, InDoubt: left})
	if code := codeOf(facts); code != exitOK {
		return &errReported{code}
	}
	return nil
}

// recoverAll settles what dead runs left; with kill, it ends what is left of
// their attempts and settles that too.
func (a *app) recoverAll(ctx context.Context, led *ledger.Ledger, runsDir string, kill bool) (runner.Recovery, error) {
	rec, err := runner.Recover(ctx, led, runsDir)
	if err != nil || !kill || len(rec.Survivors) == 0 {
		return rec, err
	}
	for _, s := range rec.Survivors {
		a.p.note("ending %s", survivorText(s, a.now()))
	}
	runner.EndSurvivors(ctx, rec.Survivors)
	again, err := runner.Recover(ctx, led, runsDir)
	again.Runs = append(rec.Runs, again.Runs...)
	again.Settled = append(rec.Settled, again.Settled...)
	again.Leftovers = append(rec.Leftovers, again.Leftovers...)
	return again, err
}

// askDoubts asks the checks of what is in doubt, batch by batch, and counts
// what still is afterwards.
func (a *app) askDoubts(ctx context.Context, where located, led *ledger.Ledger, runsDir string, names []string) (asked, left int64, all []outcomeFacts, err error) {
	stop, caught, done := a.watchSignals()
	defer done()
	var batches []ledger.Batch
	err = led.Store().View(ctx, func(r ledger.Reader) (err error) {
		batches, err = r.Batches("", "")
		return err
	})
	if err != nil {
		return 0, 0, nil, err
	}
	for _, b := range batches {
		if b.Counts[ledger.InDoubt] == 0 || len(names) > 0 && !slices.Contains(names, b.TaskName) {
			continue
		}
		n, s, err := a.askBatch(ctx, where, led, runsDir, b, stop, caught)
		asked += n
		if errors.Is(err, errNoCheck) {
			left += b.Counts[ledger.InDoubt]
			continue
		}
		if err != nil {
			return asked, left, all, err
		}
		left += s.Counts[ledger.InDoubt]
		all = append(all, facts(s, caught()))
	}
	return asked, left, all, nil
}

var errNoCheck = errors.New("the task has no check")

func (a *app) askBatch(ctx context.Context, where located, led *ledger.Ledger, runsDir string, b ledger.Batch, stop *runner.Stop, caught caughtFunc) (int64, runner.Summary, error) {
	sel := ledger.Selection{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate, Statuses: []ledger.Status{ledger.InDoubt}}
	task, err := a.definition(ctx, where, led, sel, 0)
	if err != nil || task.Check == nil {
		if err != nil {
			a.p.warn("the checks of "+b.TaskName+" can't be asked: "+err.Error(), hintOf(err))
		}
		return 0, runner.Summary{}, errNoCheck
	}
	defer closeActions([]job{{task: task}})
	var ids []int64
	err = led.Select(ctx, sel, func(page []ledger.Entry) error {
		for _, e := range page {
			ids = append(ids, e.ID)
		}
		return nil
	})
	if err != nil {
		return 0, runner.Summary{}, err
	}
	s, err := runner.Run(ctx, runner.Options{
		Ledger: led, RunsDir: runsDir, Task: task, Date: b.ExecuteDate, Zone: where.zoneName, Command: "recover",
		Version: programVersion(), Watchdog: watchdogArgs, Lease: where.lease(), Records: ids, AskOnly: true, AcceptDefinition: true, Stop: stop,
		Observe:  func(ev runner.Event) { a.observe(ev, noProgress{}) },
		ExitCode: func(s runner.Summary) int { return codeOf([]outcomeFacts{facts(s, caught())}) },
	})
	return int64(len(ids)), s, err
}

func (a *app) sayRecovered(rec runner.Recovery, asked, left int64) error {
	var c ledger.Counts
	for _, s := range rec.Settled {
		c[s.Entry.Status]++
	}
	j := recoveryJSON{Runs: append([]string{}, rec.Runs...), Settled: newCounts(c), Survivors: []survivorJSON{}, Leftovers: []leftoverJSON{}, Asked: asked, InDoubt: left}
	for _, s := range rec.Survivors {
		j.Survivors = append(j.Survivors, survivorJSON{s.Key, s.RunID, s.PID, stamp{s.StartedAt}, s.Overdue(a.now())})
	}
	for _, l := range rec.Leftovers {
		j.Leftovers = append(j.Leftovers, leftoverJSON{l.Key, l.PID})
	}
	if a.p.form != formTable {
		return object(a.p, j, []field{{"runs", plural(int64(len(j.Runs)), "dead run")}, {"settled", countWords(j.Settled)}, {"asked", plural(asked, "record")}, {"in doubt", plural(left, "record")}})
	}
	if err := a.p.say("recovered from %s: settled %s; asked the checks of %s, %d still in doubt", plural(int64(len(j.Runs)), "dead run"), countWords(j.Settled), plural(asked, "record"), left); err != nil {
		return err
	}
	for _, s := range rec.Survivors {
		a.p.problem(survivorText(s, a.now()), "--kill ends it")
	}
	if left > 0 {
		a.p.problem(plural(left, "record")+" may or may not have taken effect: a person must find out", "runner ledger ls --status in_doubt"+a.sameFlags()+" lists them; then runner ledger mark, or runner rerun --status in_doubt")
	}
	for _, l := range rec.Leftovers {
		a.p.warn("an attempt of "+l.String()+" left a process behind", fmt.Sprintf("pid %d; it blocks nothing", l.PID))
	}
	return nil
}
