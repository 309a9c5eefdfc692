package runner

import (
	"context"
	"testing"

	"runner/ledger"
)

// BenchmarkNoop plans, claims, runs and settles records that do nothing.
func BenchmarkNoop(b *testing.B) {
	bb := newBench(b)
	p := quick()
	p.Idempotent = true
	o := bb.options(ids(b.N), p, succeed)
	o.Task.Jobs = 2
	o.Task.Action = action(func(context.Context, Attempt) Result { return Result{Outcome: ledger.Succeeded} })
	b.ResetTimer()
	if s := bb.run(o); s.Counts[ledger.Done] != int64(b.N) {
		b.Fatalf("%+v", s)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
