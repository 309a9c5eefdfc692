package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"runner/ledger"
	"runner/runner"
)

// job is a task on one date, ready to run: its action can be started and its
// input is valid to the end.
type job struct {
	task    runner.Task
	date    string
	source  runner.Source
	survey  runner.Survey
	records []int64 // of a rerun, instead of a source
}

// jobOptions are those of run, exec and rerun that don't define the task.
type jobOptions struct {
	command string
	limit   int64
	wait    time.Duration
	dryRun  bool
	several bool     // several dates or tasks were asked for: print an array
	show    []string // biz_ids to print the records of
	asked   bool     // -o was given
}

// errReported ends a command with a code, after everything was said.
type errReported struct{ code int }

func (e *errReported) Error() string { return fmt.Sprintf("exit status %d", e.code) }

func isReported(err error) bool {
	var r *errReported
	return errors.As(err, &r)
}

// runJobs runs what is ready, one after another, and reports.
func (a *app) runJobs(ctx context.Context, where located, jobs []job, o jobOptions) error {
	if o.dryRun {
		return a.previewJobs(ctx, where, jobs, o)
	}
	led, store, err := a.openWriter(ctx, where, true)
	if err != nil {
		return err
	}
	defer led.Close() // every transaction is durable already
	return a.runOn(ctx, where, led, store.RunsDir(), jobs, o)
}

func (a *app) runOn(ctx context.Context, where located, led *ledger.Ledger, runsDir string, jobs []job, o jobOptions) error {
	stop, caught, done := a.watchSignals()
	defer done()
	var (
		all  []outcomeFacts
		sums []summaryJSON
		ends []func()
	)
	for _, j := range jobs {
		s, err := runner.Run(ctx, runner.Options{
			Ledger: led, RunsDir: runsDir, Task: j.task, Date: j.date, Zone: where.zoneName, Command: o.command,
			Version: programVersion(), Source: j.source, Survey: j.survey, Records: j.records,
			Limit: o.limit, Wait: o.wait, Stop: stop, Observe: a.observe,
		})
		all = append(all, facts(s, caught()))
		records, rerr := recordsOf(ctx, led, j.task.Name, j.date, j.task.Namespace, o.show)
		if err == nil {
			err = rerr
		}
		sums = append(sums, newSummary(s, records))
		ends = append(ends, func() {
			if err != nil {
				a.p.fail(err)
			}
			a.explain(s)
		})
		if stop.Asked() || err != nil {
			break // the dates after it are left for the next time
		}
	}
	if err := a.printSummaries(sums, o.several, o.asked); err != nil {
		return err
	}
	for _, end := range ends {
		end()
	}
	if code := codeOf(all); code != exitOK {
		return &errReported{code}
	}
	return nil
}
