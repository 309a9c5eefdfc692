package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

// job is a task on one date, ready to run: its action can be started and its
// input is valid to the end.
type job struct {
	task    runner.Task
	date    string
	source  runner.Source
	survey  runner.Survey
	records []int64 // of a rerun, instead of a source
	needs   []tasks.Need
	blocked []blockJSON // not empty: it can't begin, and has no source
	sealed  *sealedJob  // its records are archived: nothing is executed
	unfit   error       // its input can't be used: it is left, and the others run
}

// closeSources lets go of inputs. Jobs of several dates may share one.
func closeSources(jobs []job) {
	closed := map[runner.Source]bool{nil: true}
	for _, j := range jobs {
		if !closed[j.source] {
			_ = j.source.Close() // it was only read
			closed[j.source] = true
		}
	}
}

// jobOptions are those of run, exec and rerun that don't define the task.
type jobOptions struct {
	command  string
	limit    int64
	dryRun   bool
	whole    bool // the input is all that the task's source holds
	progress string
	fill     func(*runner.Options) // adds what the flags say
	several  bool                  // several dates or tasks were asked for: print an array
	show     []string              // biz_ids to print the records of
	asked    bool                  // -o was given
	held     []outcomeFacts        // of dates that are left to a person
	notices  *notices
}

// errReported ends a command with a code, after everything was said.
type errReported struct{ code int }

func (e *errReported) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// closeActions lets go of what actions needed. Jobs of several dates share
// one, so it is closed after the last of them.
func closeActions(jobs []job) {
	closed := map[runner.Action]bool{}
	for _, j := range jobs {
		if c, ok := j.task.Action.(io.Closer); ok && !closed[j.task.Action] {
			closed[j.task.Action] = true
			_ = c.Close() // scratch files and connections; nothing depends on them any more
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

func (a *app) runOn(ctx context.Context, where located, led *ledger.Ledger, runsDir string, jobs []job, o jobOptions) (err error) {
	stop, caught, done := a.watchSignals()
	defer done()
	defer closeActions(jobs)
	r := batchRun{app: a, where: where, led: led, runsDir: runsDir, o: o, stop: stop, caught: caught, left: o.limit}
	if jobs, err = a.lookSealed(ctx, where, led, jobs); err != nil {
		return err
	}
	for i, j := range jobs {
		if r.run(ctx, j); r.over() {
			if i+1 < len(jobs) {
				r.leave(jobs[i+1])
			}
			break
		}
	}
	perr := a.printSummaries(r.sums, o.several, o.asked)
	for _, end := range r.ends {
		end()
	}
	o.notices.take(r)
	code := codeOf(append(r.facts, o.held...))
	if perr != nil && code == exitOK {
		return perr
	}
	if code != exitOK {
		return &errReported{code}
	}
	return nil
}

// batchRun runs jobs one after another.
type batchRun struct {
	*app
	where   located
	led     *ledger.Ledger
	runsDir string
	o       jobOptions
	stop    *runner.Stop
	caught  caughtFunc
	left    int64 // of the limit
	failed  bool

	facts []outcomeFacts
	sums  []summaryJSON
	raw   []runner.Summary
	ends  []func() // what is to be said after the summaries

	blocked []job // said once for all of them
}

// over tells whether the jobs after this one are left for the next time.
func (r *batchRun) over() bool {
	return r.stop.Asked() || r.failed || r.o.limit > 0 && r.left <= 0
}

func (r *batchRun) leave(next job) {
	if r.stop.Asked() {
		r.facts[len(r.facts)-1].Signal = r.caught()
	}
	r.p.note("left for the next time: %s %s and what comes after it", next.task.Name, next.date)
}

func (r *batchRun) run(ctx context.Context, j job) {
	if j.sealed != nil {
		r.addSealed(ctx, j, j.sealed)
		return
	}
	if by := j.blocked; len(by) > 0 {
		r.block(j, by)
		return
	}
	if j.unfit != nil {
		s := r.unfit(r.where, j)
		r.add(s, newSummary(s, nil), facts(s, nil))
		r.ends = append(r.ends, func() { r.sayUnfit(j) })
		return
	}
	by, err := blocks(ctx, r.led, j.needs, j.date) // a date before this one may be what it needs
	switch {
	case err != nil:
		r.fail(j, err)
		return
	case len(by) > 0:
		r.block(j, by)
		return
	}
	r.start(ctx, j)
}

func (r *batchRun) block(j job, by []blockJSON) {
	s, row := r.app.block(r.where, j, by)
	r.add(s, row, facts(s, nil))
	j.blocked = by
	if r.blocked = append(r.blocked, j); len(r.blocked) == 1 {
		r.ends = append(r.ends, func() { r.sayBlocked(r.blocked) })
	}
}

// fail is the run of a job of which the ledger couldn't tell what it needs.
func (r *batchRun) fail(j job, err error) {
	now := r.now().UTC()
	s := runner.Summary{
		TaskName: j.task.Name, ExecuteDate: j.date, TimeZone: r.where.zoneName, Result: runner.LedgerError,
		Error: err.Error(), StartedAt: now, EndedAt: now,
	}
	r.failed = true
	r.add(s, newSummary(s, nil), facts(s, nil))
	r.ends = append(r.ends, func() { r.p.fail(err) })
}

func (r *batchRun) add(s runner.Summary, row summaryJSON, f outcomeFacts) {
	r.raw = append(r.raw, s)
	r.sums = append(r.sums, row)
	r.facts = append(r.facts, f)
}

func (r *batchRun) start(ctx context.Context, j job) {
	bar := r.newProgress(r.o.progress, j.task.Name, j.date)
	opts := runner.Options{
		Ledger: r.led, RunsDir: r.runsDir, Task: j.task, Date: j.date, Zone: r.where.zoneName, Command: r.o.command,
		Version: programVersion(), Watchdog: watchdogArgs, Lease: r.where.lease(), Source: j.source, Survey: j.survey, Records: j.records,
		Limit: r.left, Stop: r.stop, Observe: func(ev runner.Event) { r.observe(ev, bar) },
		ExitCode: func(s runner.Summary) int { return codeOf([]outcomeFacts{facts(s, r.caught())}) },
	}
	if r.o.fill != nil {
		r.o.fill(&opts)
	}
	s, err := runner.Run(ctx, opts)
	bar.stop()
	var sealed *ledger.SealedError
	if errors.As(err, &sealed) { // since it was looked at
		s := r.matchSealed(ctx, r.where, r.led, j, sealed.Batch)
		r.failed = s.err != nil
		r.addSealed(ctx, j, s)
		return
	}
	records, rerr := recordsOf(ctx, r.led, j.task.Name, j.date, j.task.Namespace, r.o.show)
	if err == nil {
		err = rerr
	}
	var rest remainder
	if err == nil {
		rest, err = r.lookOutside(ctx, j, s)
	}
	f := facts(s, r.caught())
	f.LedgerError = f.LedgerError || err != nil && !f.Usage
	r.left -= s.Begun
	r.failed = err != nil
	row := newSummary(s, records)
	row.incomplete = !rest.complete
	r.add(s, row, f)
	r.ends = append(r.ends, func() {
		if err != nil {
			r.p.fail(err)
		}
		r.explain(s, r.where.zone)
		r.sayOutside(j, rest)
	})
}
