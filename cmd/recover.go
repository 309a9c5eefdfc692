package cmd

import (
	"context"
	"fmt"

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
	stop, caught, done := a.watchSignals()
	defer done()
	asked, left, facts, err := asker{a, where, led, store.RunsDir(), stop, caught}.askAll(ctx, names)
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
