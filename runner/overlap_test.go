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
			done := b.start(o)
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
	done := b.start(o)
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
		o.Survey, err = ReadThrough(o.Source, Shard{Index: i, Count: n}, false)
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
