package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

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
	command  string
	limit    int64
	dryRun   bool
	progress string
	fill     func(*runner.Options) // adds what the flags say
	several  bool                  // several dates or tasks were asked for: print an array
	show     []string              // biz_ids to print the records of
	asked    bool                  // -o was given
}

// errReported ends a command with a code, after everything was said.
type errReported struct{ code int }

func (e *errReported) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// closeActions lets go of what actions needed. Jobs of several dates share
// one, so it is closed after the last of them.
func closeActions(jobs []job) {
	for _, j := range jobs {
		if c, ok := j.task.Action.(io.Closer); ok {
			_ = c.Close() // scratch files; nothing depends on them any more
		}
	}
}

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
	left := o.limit
	for i, j := range jobs {
		bar := a.newProgress(o.progress, j.task.Name, j.date)
		opts := runner.Options{
			Ledger: led, RunsDir: runsDir, Task: j.task, Date: j.date, Zone: where.zoneName, Command: o.command,
			Version: programVersion(), Source: j.source, Survey: j.survey, Records: j.records,
			Limit: left, Stop: stop, Observe: func(ev runner.Event) { a.observe(ev, bar) },
		}
		opts.ExitCode = func(s runner.Summary) int { return codeOf([]outcomeFacts{facts(s, caught())}) }
		if o.fill != nil {
			o.fill(&opts)
		}
		s, err := runner.Run(ctx, opts)
		bar.stop()
		f := facts(s, caught())
		records, rerr := recordsOf(ctx, led, j.task.Name, j.date, j.task.Namespace, o.show)
		if err == nil {
			err = rerr
		}
		if stop.Asked() && i+1 < len(jobs) {
			f.Signal = caught()
			a.p.note("left for the next time: %s %s and what comes after it", jobs[i+1].task.Name, jobs[i+1].date)
		}
		f.LedgerError = f.LedgerError || err != nil && !f.Usage
		all = append(all, f)
		sums = append(sums, newSummary(s, records))
		ends = append(ends, func() {
			if err != nil {
				a.p.fail(err)
			}
			a.explain(s, where.zone)
		})
		left -= s.Begun
		if stop.Asked() || err != nil || o.limit > 0 && left <= 0 {
			break // the dates after it are left for the next time
		}
	}
	perr := a.printSummaries(sums, o.several, o.asked)
	for _, end := range ends {
		end()
	}
	if perr != nil && codeOf(all) == exitOK {
		return perr
	}
	if code := codeOf(all); code != exitOK {
		return &errReported{code}
	}
	return nil
}
