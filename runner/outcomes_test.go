package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"runner/ledger"
)

func TestWhatAnActionSaysDecidesWhatBecomesOfItsRecord(t *testing.T) {
	type script []Result // one for each attempt; the last repeats
	ok := Result{Outcome: ledger.Succeeded}
	fail := Result{Outcome: ledger.FailedAttempt, Error: "exit status 1"}
	unknown := Result{Outcome: ledger.Unknown, Error: "timeout"}
	tests := []struct {
		name       string
		idempotent bool
		says       script
		result     ResultWord
		status     ledger.Status
		detail     string
		attempts   int
	}{
		{"it succeeds", false, script{ok}, Complete, ledger.Done, "applied", 1},
		{"there was nothing to do", false, script{{Outcome: ledger.Succeeded, Detail: ledger.DetailNoop}}, Complete, ledger.Done, "noop", 1},
		{"it fails once", false, script{fail, ok}, Complete, ledger.Done, "applied", 2},
		{"it always fails", false, script{fail}, SomeFailed, ledger.Failed, "", 3},
		{"it fails for good", false, script{{Outcome: ledger.FailedForGood, Error: "no such user"}}, SomeFailed, ledger.Failed, "", 1},
		{"its outcome is unknown", false, script{unknown}, SomeInDoubt, ledger.InDoubt, "unknown", 1},
		{"it fails, then its outcome is unknown", false, script{fail, unknown}, SomeInDoubt, ledger.InDoubt, "unknown", 2},
		{"its outcome is unknown once, and repeating is safe", true, script{unknown, ok}, Complete, ledger.Done, "applied", 2},
		{"its outcome is always unknown, and repeating is safe", true, script{unknown}, SomeInDoubt, ledger.InDoubt, "unknown", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			p := quick()
			p.Idempotent = tt.idempotent
			s := b.run(b.options(ids(1), p, func(_ context.Context, at Attempt) Result {
				return tt.says[min(at.Number, len(tt.says))-1]
			}))
			e := b.statuses()["u000001"]
			if s.Result != tt.result || e.Status != tt.status || e.Detail != tt.detail || e.Attempts != tt.attempts {
				t.Errorf("result %s, %v (%s) after %d attempts", s.Result, e.Status, e.Detail, e.Attempts)
			}
			if s.Executed != int64(tt.attempts) || b.seen.n["u000001"] != tt.attempts {
				t.Errorf("executed %d, seen %d", s.Executed, b.seen.n["u000001"])
			}
			if s.Result != Complete && len(s.Troubled) != 1 {
				t.Errorf("it is not told by name: %+v", s.Troubled)
			}
		})
	}
}

func TestOneIdempotencyKeyOverAllAttempts(t *testing.T) { // case 3
	b := newBench(t)
	keys := map[string]int{}
	o := b.options(ids(1), quick(), func(_ context.Context, at Attempt) Result {
		keys[at.IdempotencyKey]++
		return Result{Outcome: ledger.FailedAttempt}
	})
	b.run(o)
	e := b.statuses()["u000001"]
	_, err := b.led.Rerun(context.Background(), []int64{e.ID}, ledger.Decision{}, o.Task.Policy)
	must(t, err)
	b.run(o)
	if len(keys) != 1 || keys[ledger.IdempotencyKey("", e.Key, 1)] != 6 {
		t.Errorf("keys %v", keys)
	}
}

func TestAPanicIsAFailedAttemptWithItsTrace(t *testing.T) {
	b := newBench(t)
	b.run(b.options(ids(2), quick(), func(_ context.Context, at Attempt) Result {
		if at.BizID == "u000001" {
			panic("out of range")
		}
		return Result{Outcome: ledger.Succeeded}
	}))
	got := b.statuses()
	if e := got["u000001"]; e.Status != ledger.Failed || e.Error != "panic: out of range" {
		t.Errorf("%v: %s", e.Status, e.Error)
	}
	if got["u000002"].Status != ledger.Done {
		t.Error("the other record is not done")
	}
}

func TestALimitStopsTheRunAndTheNextGoesOn(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		b := newBench(t)
		p := quick()
		p.Idempotent = idempotent
		o := b.options(ids(10), p, succeed)
		o.Limit = 4
		for i, want := range []ResultWord{Partial, Partial, Complete} {
			s := b.run(o)
			if s.Result != want || s.Executed != min(4, 10-4*int64(i)) {
				t.Errorf("run %d: %s, executed %d", i+1, s.Result, s.Executed)
			}
		}
	}
}

func TestAnActionThatCantBeStartedHaltsTheRun(t *testing.T) {
	t.Run("at once when its program has vanished", func(t *testing.T) {
		b := newBench(t)
		o := b.options(ids(50), quick(), func(context.Context, Attempt) Result {
			return Result{Outcome: ledger.NotStarted, Halt: true, Error: "./grant.sh: no such file"}
		})
		s := b.run(o)
		if s.Result != Halted || s.Executed != 0 || s.HaltReason != "./grant.sh: no such file" || s.Counts[ledger.Pending] != 50 {
			t.Errorf("%+v", s)
		}
		if n := len(b.seen.n); n > o.Task.Jobs {
			t.Errorf("tried %d records", n)
		}
	})
	t.Run("after ten in a row when the system can't", func(t *testing.T) {
		old := breath
		breath = time.Microsecond
		defer func() { breath = old }()
		b := newBench(t)
		s := b.run(b.options(ids(50), quick(), func(context.Context, Attempt) Result {
			return Result{Outcome: ledger.NotStarted, Error: "fork: resource temporarily unavailable"}
		}))
		if s.Result != Halted || s.Executed != 0 || s.Counts[ledger.Pending] != 50 {
			t.Errorf("%+v", s)
		}
	})
}

func TestStoppingGivesBackWhatWasNotStarted(t *testing.T) {
	b := newBench(t)
	p := quick()
	p.Idempotent = true // claims run ahead
	o := b.options(ids(500), p, nil)
	o.Stop = NewStop(time.Hour)
	defer o.Stop.Close()
	started, release := make(chan struct{}), make(chan struct{})
	o.Task.Action = action(func(_ context.Context, at Attempt) Result {
		if at.BizID == "u000100" {
			close(started)
			<-release
		}
		return Result{Outcome: ledger.Succeeded}
	})
	go func() {
		<-started
		o.Stop.Ask()
		close(release)
	}()
	s := b.run(o)
	if s.Result != Interrupted || s.Counts[ledger.Running] != 0 || s.Counts[ledger.Done] == 0 || s.Counts.Total() != 500 {
		t.Fatalf("%+v", s)
	}
	for id, e := range b.statuses() {
		if e.Status == ledger.Pending && e.Attempts != 0 {
			t.Errorf("%s: a claim that was given back counts", id)
		}
	}
	o.Stop = nil
	if s = b.run(b.options(ids(500), p, succeed)); s.Result != Complete {
		t.Errorf("the next run: %+v", s)
	}
}

func TestWhatRunsIsEndedHarderEachTimeItIsAsked(t *testing.T) {
	b := newBench(t)
	o := b.options(ids(1), quick(), nil)
	o.Stop = NewStop(time.Hour)
	defer o.Stop.Close()
	o.Task.Action = action(func(ctx context.Context, at Attempt) Result {
		o.Stop.Ask()
		if ctx.Err() != nil {
			t.Error("the first request ended what runs")
		}
		o.Stop.Ask()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), ErrInterrupted) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		select {
		case <-at.Kill:
			t.Error("the second request killed what runs")
		default:
		}
		o.Stop.Ask()
		<-at.Kill
		return Result{Outcome: ledger.Unknown, Error: "killed"}
	})
	s := b.run(o)
	if s.Result != Interrupted || s.Counts[ledger.InDoubt] != 1 {
		t.Errorf("%+v", s)
	}
}

func TestAnAttemptThatTakesTooLongIsToldSo(t *testing.T) {
	b := newBench(t)
	p := quick()
	p.Timeout = time.Millisecond
	s := b.run(b.options(ids(1), p, func(ctx context.Context, _ Attempt) Result {
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), ErrTimeout) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		return Result{Outcome: ledger.Unknown, Error: "timeout"}
	}))
	if s.Result != SomeInDoubt {
		t.Errorf("%+v", s)
	}
}

func TestBackoffHoldsNoWorker(t *testing.T) {
	b := newBench(t)
	p := quick()
	p.Backoff, p.MaxBackoff = 20*time.Millisecond, 20*time.Millisecond
	b.led.Rand = func() float64 { return 0.999 }
	o := b.options(ids(20), p, nil)
	o.Task.Jobs = 1
	var order []string
	o.Task.Action = action(func(_ context.Context, at Attempt) Result {
		order = append(order, at.BizID)
		if at.BizID == "u000001" && at.Number == 1 {
			return Result{Outcome: ledger.FailedAttempt}
		}
		return Result{Outcome: ledger.Succeeded}
	})
	if s := b.run(o); s.Result != Complete || s.Executed != 21 {
		t.Fatalf("%+v", s)
	}
	if order[0] != "u000001" || order[1] == "u000001" {
		t.Errorf("order %v: the only worker waited for the retry", order)
	}
}

func TestFieldsKeepTheTextOfTheirValues(t *testing.T) {
	got, err := Fields([]byte(`{"s":"0010","n":12345678901234567890,"f":1.50,"b":true,"z":null,"o":{"a":[1, 2]},"中":"文"}`))
	must(t, err)
	want := map[string]string{"s": "0010", "n": "12345678901234567890", "f": "1.50", "b": "true", "z": "null", "o": `{"a":[1, 2]}`, "中": "文"}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
	}
}
