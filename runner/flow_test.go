package runner

import (
	"context"
	"errors"
	"fmt"
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
	done := make(chan Summary)
	var err error
	joined.Survey, err = ReadThrough(joined.Source, Shard{}, false)
	must(t, err)
	go func() {
		s, _ := Run(context.Background(), joined)
		done <- s
	}()
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

func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		overlap Overlap
		result  ResultWord
		yielded bool
	}{{Skip, IsBusy, true}, {Fail, IsBusy, false}, {Join, Complete, false}} {
		t.Run(string(tt.overlap), func(t *testing.T) {
			b := newBench(t)
			second, _ := b.open()
			o := b.options(ids(5), quick(), nil)
			o.Task.Jobs = 1
			started := make(chan string)
			release := make(chan struct{})
			var once atomic.Bool
			o.Task.Action = action(func(_ context.Context, at Attempt) Result {
				if once.CompareAndSwap(false, true) {
					started <- at.RunID
					<-release
				}
				return Result{Outcome: ledger.Succeeded}
			})
			done := make(chan Summary)
			var err error
			o.Survey, err = ReadThrough(o.Source, Shard{}, false)
			must(t, err)
			go func() {
				s, _ := Run(context.Background(), o)
				done <- s
			}()
			holder := <-started
			other := b.options(ids(5), quick(), succeed)
			other.Ledger, other.Task.Overlap = second, tt.overlap
			if tt.overlap == Join {
				close(release)
			}
			s := b.run(other)
			if s.Result != tt.result || s.Yielded != tt.yielded {
				t.Errorf("%+v", s)
			}
			if tt.overlap != Join {
				if fmt.Sprint(s.HeldBy) != "["+holder+"]" || s.Executed != 0 {
					t.Errorf("held by %v, not %s; executed %d", s.HeldBy, holder, s.Executed)
				}
				close(release)
			}
			if s := <-done; s.Result != Complete {
				t.Errorf("the first: %+v", s)
			}
			if batch := b.batch(); batch.OpenPlanRun != "" {
				t.Errorf("a plan is open: %q", batch.OpenPlanRun)
			}
		})
	}
}

func TestAnotherDefinitionThanThatOfALiveRunIsRefused(t *testing.T) {
	b := newBench(t)
	second, _ := b.open()
	o := b.options(ids(2), quick(), nil)
	started, release := make(chan struct{}, 2), make(chan struct{})
	o.Task.Action = action(func(context.Context, Attempt) Result {
		started <- struct{}{}
		<-release
		return Result{Outcome: ledger.Succeeded}
	})
	done := make(chan Summary)
	var err error
	o.Survey, err = ReadThrough(o.Source, Shard{}, false)
	must(t, err)
	go func() {
		s, _ := Run(context.Background(), o)
		done <- s
	}()
	<-started
	other := b.options(ids(2), ledger.DefaultPolicy(), succeed)
	other.Ledger = second
	s, err := b.try(other)
	var def *DefinitionError
	if !errors.As(err, &def) || s.Result != Invalid || s.Executed != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	close(release)
	<-done
	if s := b.run(other); s.Result != Complete {
		t.Errorf("when it has ended: %+v", s)
	}
}

func TestShardsAreDisjointAndTogetherTheWhole(t *testing.T) {
	b := newBench(t)
	const n = 3
	var planned int64
	for i := 1; i <= n; i++ {
		o := b.options(ids(100), quick(), succeed)
		var err error
		o.Survey, err = ReadThrough(o.Source, Shard{i, n}, false)
		must(t, err)
		s, err := Run(t.Context(), o)
		must(t, err)
		if s.Result != Complete || s.Planned == 0 || s.Planned == 100 || s.Executed != s.Planned || s.Absent != 0 {
			t.Errorf("shard %d: %+v", i, s)
		}
		planned += s.Planned
	}
	if planned != 100 || len(b.seen.n) != 100 {
		t.Errorf("planned %d, ran %d", planned, len(b.seen.n))
	}
}

func TestAbsentRecordsAreTakenInIfAskedFor(t *testing.T) {
	b := newBench(t)
	o := b.options(ids(10), quick(), succeed)
	o.Limit = 4
	b.run(o)
	o = b.options(items{{BizID: "x"}}, quick(), succeed)
	o.IncludeAbsent = true
	s := b.run(o)
	if s.Result != Complete || s.Planned != 11 || s.Absent != 10 || s.Executed != 7 || s.AlreadyDone != 4 {
		t.Errorf("%+v", s)
	}
}

func TestFreshInputIsTakenOnlyIfAskedFor(t *testing.T) { // case 5
	for _, fresh := range []bool{false, true} {
		b := newBench(t)
		p := quick()
		p.Backoff, p.MaxBackoff = 30*time.Minute, 30*time.Minute
		b.led.Rand = func() float64 { return 0.9 }
		o := b.options(items{{"a", []byte(`{"v":"1"}`), 1}}, p, func(context.Context, Attempt) Result { return Result{Outcome: ledger.FailedAttempt} })
		o.Task.MaxWait = time.Minute
		b.run(o)
		later := b.led.Now().Add(time.Hour)
		b.led.Now = func() time.Time { return later }
		var got string
		o = b.options(items{{"a", []byte(`{"v":"2"}`), 1}}, p, func(_ context.Context, at Attempt) Result {
			got = at.Fields["v"]
			return Result{Outcome: ledger.Succeeded}
		})
		o.FreshInput = fresh
		s := b.run(o)
		want := map[bool]string{false: "1", true: "2"}[fresh]
		if s.Changed != 1 || got != want {
			t.Errorf("fresh %v: ran with %q, want %q; %+v", fresh, got, want, s)
		}
	}
}

func TestOthersAreWaitedForNoLongerThanAsked(t *testing.T) {
	b := newBench(t)
	d := b.dieRunning(1, quick(), thisHost(), nil)
	_, lock, err := probe(d.path) // somebody is alive, and holds the record
	must(t, err)
	defer lock.Close()
	o := b.options(ids(2), quick(), succeed)
	o.AcceptDefinition = true
	wait := 10 * time.Millisecond
	o.Wait = &wait
	s := b.run(o)
	if s.Result != IsBusy || s.Executed != 1 || s.Counts[ledger.Running] != 1 || len(s.HeldBy) != 1 {
		t.Errorf("%+v", s)
	}
}
