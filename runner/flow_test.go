package runner

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"runner/ledger"
)

func TestTooManyFailuresHaltTheBatch(t *testing.T) {
	bad := func(context.Context, Attempt) Result { return Result{Outcome: ledger.FailedForGood, Error: "down"} }
	doubt := func(context.Context, Attempt) Result { return Result{Outcome: ledger.Unknown, Error: "timeout"} }
	every := func(n int64) func(context.Context, Attempt) Result {
		var i atomic.Int64
		return func(context.Context, Attempt) Result {
			if i.Add(1)%n == 0 {
				return Result{Outcome: ledger.FailedForGood}
			}
			return Result{Outcome: ledger.Succeeded}
		}
	}
	tests := []struct {
		name     string
		limit    Tolerance
		act      func(context.Context, Attempt) Result
		halted   bool
		executed int64 // of 100, one at a time
	}{
		{"none is said", Tolerance{}, bad, false, 100},
		{"a number is reached", Tolerance{Limited: true, Count: 3}, bad, true, 4},
		{"no failure is tolerated", Tolerance{Limited: true}, bad, true, 1},
		{"doubts count too", Tolerance{Limited: true, Count: 3}, doubt, true, 4}, // case 77
		{"a share means nothing before 20 attempts", Tolerance{Limited: true, Percent: 5}, bad, true, 20},
		{"a share is not passed", Tolerance{Limited: true, Percent: 10}, every(10), false, 100},
		{"a share is passed", Tolerance{Limited: true, Percent: 10}, every(9), true, 27},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			o := b.options(ids(100), quick(), tt.act)
			o.Task.Jobs, o.Task.MaxFailures = 1, tt.limit
			s := b.run(o)
			if (s.Result == Halted) != tt.halted || s.Executed != tt.executed {
				t.Errorf("%s after %d attempts: %s", s.Result, s.Executed, s.HaltReason)
			}
			if !tt.halted {
				return
			}
			if batch := b.batch(); batch.HaltedAt.IsZero() || batch.HaltReason != s.HaltReason {
				t.Errorf("the batch doesn't say so: %+v", batch)
			}
			o = b.options(ids(100), quick(), succeed)
			if s = b.run(o); s.Result == Halted || !b.batch().HaltedAt.IsZero() || s.Counts[ledger.Pending] != 0 {
				t.Errorf("the next start doesn't go on: %+v", s)
			}
		})
	}
}

// start runs in the background.
func (b *bench) start(o Options) <-chan Summary {
	b.t.Helper()
	var err error
	o.Survey, err = ReadThrough(o.Source, Shard{}, false)
	must(b.t, err)
	done := make(chan Summary)
	go func() {
		s, _ := Run(context.Background(), o)
		done <- s
	}()
	return done
}

func (b *bench) batch() ledger.Batch {
	b.t.Helper()
	var batch ledger.Batch
	must(b.t, b.led.Store().View(context.Background(), func(r ledger.Reader) (err error) {
		batch, err = r.Batch("grant", "2026-11-28")
		return err
	}))
	return batch
}

func TestAHaltStopsJoinedRuns(t *testing.T) {
	b := newBench(t)
	other, _ := b.open()
	started, halted := make(chan struct{}), make(chan struct{})
	joined := b.options(ids(50), quick(), nil)
	joined.Ledger, joined.Task.Jobs = other, 1
	var n atomic.Int64
	joined.Task.Action = action(func(context.Context, Attempt) Result {
		if n.Add(1) == 1 {
			close(started)
			<-halted
		}
		return Result{Outcome: ledger.Succeeded}
	})
	done := b.start(joined)
	<-started
	o := b.options(ids(50), quick(), func(context.Context, Attempt) Result { return Result{Outcome: ledger.FailedForGood} })
	o.Task.MaxFailures = Tolerance{Limited: true}
	if s := b.run(o); s.Result != Halted {
		t.Errorf("%+v", s)
	}
	close(halted)
	if s := <-done; s.Result != Halted || n.Load() != 1 {
		t.Errorf("the joined run: %s after %d attempts", s.Result, n.Load())
	}
}

func TestRetryLaterPausesTheWholeTaskAndIsNotCounted(t *testing.T) { // case 26
	b := newBench(t)
	o := b.options(ids(20), quick(), func(_ context.Context, at Attempt) Result {
		if at.BizID == "u000003" {
			return Result{Outcome: ledger.AskedLater, RetryAfter: time.Hour}
		}
		return Result{Outcome: ledger.Succeeded}
	})
	o.Task.Jobs = 1
	s := b.run(o)
	if s.Result != IsWaiting || s.Executed != 3 || s.Counts[ledger.Done] != 2 || s.PausedUntil.Sub(b.led.Now()) < 59*time.Minute {
		t.Fatalf("%+v", s)
	}
	e := b.statuses()["u000003"]
	if e.Status != ledger.Pending || e.Attempts != 0 || e.NotBefore.Sub(e.EndedAt) < time.Hour {
		t.Errorf("%v after %d attempts, not before %v", e.Status, e.Attempts, e.NotBefore)
	}
	// Other runs keep to it, until its time has come.
	if s = b.run(b.options(ids(20), quick(), succeed)); s.Result != IsWaiting || s.Executed != 0 {
		t.Errorf("another run: %+v", s)
	}
	later := b.led.Now().Add(2 * time.Hour)
	b.led.Now = func() time.Time { return later }
	if s = b.run(b.options(ids(20), quick(), succeed)); s.Result != Complete || s.Executed != 18 {
		t.Errorf("when its time has come: %+v", s)
	}
}

func TestALongerWaitThanAllowedEndsTheRun(t *testing.T) {
	b := newBench(t)
	p := quick()
	p.Backoff, p.MaxBackoff = time.Hour, time.Hour
	b.led.Rand = func() float64 { return 0.99 }
	o := b.options(ids(3), p, func(_ context.Context, at Attempt) Result {
		if at.BizID == "u000001" {
			return Result{Outcome: ledger.FailedAttempt}
		}
		return Result{Outcome: ledger.Succeeded}
	})
	o.Task.MaxWait = 30 * time.Minute
	s := b.run(o)
	if s.Result != IsWaiting || s.Counts[ledger.Done] != 2 || s.NextDue.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestARateIsKept(t *testing.T) {
	b := newBench(t)
	o := b.options(ids(30), quick(), nil)
	o.Task.Rate, o.Task.Jobs = 200, 8
	var times []time.Time
	first := make(chan time.Time, 64)
	o.Task.Action = action(func(context.Context, Attempt) Result {
		first <- time.Now()
		return Result{Outcome: ledger.Succeeded}
	})
	s := b.run(o)
	close(first)
	for x := range first {
		times = append(times, x)
	}
	// 30 starts at 200 a second with a burst of 10 can't be over sooner than in 100 ms.
	if d := times[len(times)-1].Sub(times[0]); s.Result != Complete || d < 90*time.Millisecond {
		t.Errorf("%s, in %s", s.Result, d)
	}
}

func TestARateDoesNotKeepWhatRunsAloneForEver(t *testing.T) {
	noProcesses(t)
	b := newBench(t)
	p := quick()
	p.Idempotent = true
	b.dieRunning(4, p, thisHost(), func(f *runFile, claims []ledger.Entry) {
		for _, en := range claims {
			must(t, f.started(en, time.Now()))
		}
	})
	o := b.options(ids(4), p, succeed)
	o.Task.Rate = 50
	if s := b.run(o); s.Result != Complete || s.Executed != 4 {
		t.Errorf("%s after %d attempts", s.Result, s.Executed)
	}
}
