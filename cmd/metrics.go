package cmd

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"runner/ledger"
	"runner/runner"
)

// gauges are what --metrics writes, by task. Times are instants, never ages:
// an age would stand still when nobody writes the file any more, and that is
// what they are to tell.
type gauges struct {
	*prometheus.Registry
	ended, duration, exitCode, attempts  *prometheus.GaugeVec
	lastSuccess, records, open, missed   *prometheus.GaugeVec
	oldestOpen, oldestDoubt, runsRecords *prometheus.GaugeVec
}

func newGauges() *gauges {
	g := &gauges{Registry: prometheus.NewRegistry()}
	add := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "runner_" + name, Help: help}, append([]string{"task"}, labels...))
		g.MustRegister(v)
		return v
	}
	g.ended = add("run_end_timestamp_seconds", "When the last run of the task that wrote this file ended.")
	g.duration = add("run_duration_seconds", "How long that run took.")
	g.exitCode = add("run_exit_code", "The exit code of that run.")
	g.attempts = add("run_attempts", "How many attempts that run started.")
	g.runsRecords = add("run_records", "Records in the scope of that run, by their status at its end.", "status")
	g.lastSuccess = add("last_success_timestamp_seconds", "When a batch of the task was last complete at the end of a run, of the newest such execute date up to today, or a later one; 0 if none was.")
	g.records = add("records", "Records of the task in the ledger, of all dates, by status.", "status")
	g.open = add("open_records", "Records of the task that are pending or running.")
	g.oldestOpen = add("oldest_open_timestamp_seconds", "When the oldest batch of the task with open records was made; there only if there is one.")
	g.oldestDoubt = add("oldest_in_doubt_timestamp_seconds", "When the oldest attempt of the task whose record is in doubt started, or it was put in doubt without one; there only if there is one.")
	g.missed = add("missed_dates", "Dates that the task should have run on by its schedule and never did; there only with a schedule.")
	return g
}

// writeMetrics writes how the tasks stand, also after a run that failed. What
// the file held before is replaced.
func (n *notices) writeMetrics(ctx context.Context, names []string) error {
	g := newGauges()
	names = slices.Sorted(slices.Values(append(n.tasks(), names...)))
	names = slices.Compact(names)
	for _, task := range names {
		g.run(n, task)
	}
	if n.known {
		led, err := n.a.openReader(ctx, n.where)
		if err == nil { // else what stands in it isn't known
			defer led.Close() // it was only read
			for _, name := range names {
				if err := g.stand(ctx, n, led, name); err != nil {
					return err
				}
			}
		}
	}
	return prometheus.WriteToTextfile(n.metrics, g)
}

// run adds how the last run of a task went.
func (g *gauges) run(n *notices, task string) {
	var attempts int64
	var counts ledger.Counts
	first, last := time.Time{}, time.Time{}
	results := n.of(task)
	if len(results) == 0 { // there was nothing to do
		first, last = n.began, n.a.now()
	}
	for _, r := range results {
		attempts += r.Executed
		counts.Add(r.Counts)
		if first.IsZero() || r.StartedAt.Before(first) {
			first = r.StartedAt
		}
		last = later(last, r.EndedAt)
	}
	g.ended.WithLabelValues(task).Set(seconds(last))
	g.duration.WithLabelValues(task).Set(max(last.Sub(first), 0).Seconds())
	g.exitCode.WithLabelValues(task).Set(float64(n.codeFor(task)))
	g.attempts.WithLabelValues(task).Set(float64(attempts))
	for _, s := range ledger.Statuses {
		g.runsRecords.WithLabelValues(task, s.String()).Set(float64(counts[s]))
	}
}

// stand adds what the ledger says of a task.
func (g *gauges) stand(ctx context.Context, n *notices, led *ledger.Ledger, task string) error {
	batches, err := led.Batches(ctx, task, "", "")
	if err != nil {
		return err
	}
	var counts ledger.Counts
	var open int64
	var oldest time.Time
	for _, b := range batches {
		counts.Add(b.Counts)
		open += b.Open()
		if b.Open() > 0 && (oldest.IsZero() || b.CreatedAt.Before(oldest)) {
			oldest = b.CreatedAt
		}
	}
	for _, s := range ledger.Statuses {
		g.records.WithLabelValues(task, s.String()).Set(float64(counts[s]))
	}
	g.open.WithLabelValues(task).Set(float64(open))
	if !oldest.IsZero() {
		g.oldestOpen.WithLabelValues(task).Set(seconds(oldest))
	}
	if counts[ledger.InDoubt] > 0 {
		e, err := led.OldestDoubt(ctx, []string{task})
		if err != nil {
			return err
		}
		if e != nil {
			g.oldestDoubt.WithLabelValues(task).Set(seconds(e.DoubtSince()))
		}
	}
	success, err := lastSuccess(ctx, led, task, batches, n.a.now().In(n.where.zone).Format(time.DateOnly))
	if err != nil {
		return err
	}
	g.lastSuccess.WithLabelValues(task).Set(seconds(success))
	e := n.where.expecting(task, n.a.now())
	if e.schedule() == nil {
		return nil
	}
	missed, err := e.missed(batches, "", "")
	g.missed.WithLabelValues(task).Set(float64(len(missed)))
	return err
}

// seconds is an instant as Prometheus writes it; never is 0.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// reportPage is how many records or runs are read at once for a report.
const reportPage = 500

// lastSuccess is when the newest run ended that found a whole batch complete.
// It counts from the newest execute date up to today of which that is so: a run
// for an older one says nothing of whether the task does its work. Those of
// days to come count too, for a task may always run ahead.
func lastSuccess(ctx context.Context, led *ledger.Ledger, task string, batches []ledger.Batch, today string) (at time.Time, err error) {
	complete := map[string]bool{}
	from := ""
	for _, b := range batches {
		if b.Complete() {
			complete[b.ExecuteDate] = true
			if b.ExecuteDate <= today {
				from = max(from, b.ExecuteDate)
			}
		}
	}
	for q := (ledger.RunQuery{TaskName: task, Limit: reportPage}); ; {
		var page []ledger.Run
		err = led.Store().View(ctx, func(r ledger.Reader) (err error) {
			page, err = r.Runs(q)
			return err
		})
		if err != nil || len(page) == 0 {
			return at, err
		}
		for _, r := range page {
			q.Before = r.No
			if r.Result == string(runner.Complete) && complete[r.ExecuteDate] && r.ExecuteDate >= from {
				return r.EndedAt, nil
			}
		}
	}
}
