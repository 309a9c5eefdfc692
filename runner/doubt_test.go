package runner

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runner/ledger"
)

// world is the other side: which effects are there, whole or half.
type world struct {
	mu    sync.Mutex
	whole map[string]int
	half  map[string]bool
	log   []string
}

func (w *world) say(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, what)
}

// probe is a check of the world.
func (w *world) probe(_ context.Context, at Attempt) Result {
	w.say("check")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.half[at.BizID]:
		return Result{Outcome: ledger.Partial}
	case w.whole[at.BizID] > 0:
		return Result{Outcome: ledger.Applied}
	}
	return Result{Outcome: ledger.Absent}
}

func (w *world) undo(_ context.Context, at Attempt) Result {
	w.say("compensate")
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.half, at.BizID)
	return Result{Outcome: ledger.Succeeded}
}

func TestACheckDecidesWhatADoubtComesTo(t *testing.T) {
	ok := Result{Outcome: ledger.Succeeded}
	unknown := Result{Outcome: ledger.Unknown, Error: "timeout"}
	unclear := func(context.Context, Attempt) Result { return Result{Outcome: ledger.Unclear, Error: "can't tell"} }
	type step func(*world, Attempt) Result
	nothing := func(*world, Attempt) Result { return unknown }
	half := func(w *world, at Attempt) Result { w.half[at.BizID] = true; return unknown }
	whole := func(w *world, at Attempt) Result { w.whole[at.BizID]++; return unknown }
	finish := func(w *world, at Attempt) Result { w.whole[at.BizID]++; return ok }
	tests := []struct {
		name   string
		set    func(*Options, *world)
		steps  []step // of the action, by attempt
		result ResultWord
		detail string
		log    string
	}{
		{"applied: done", nil, []step{whole}, Complete, "already", "act check"},
		{"absent: tried again", nil, []step{nothing, finish}, Complete, "applied", "act check act"},
		{"absent with no attempts left: failed", nil, []step{nothing, nothing, nothing}, SomeFailed, "absent", "act check act check act check"},
		{"partial without a compensation: held", nil, []step{half}, SomeInDoubt, "partial", "act check"},
		{"partial: undone, asked again, tried again", func(o *Options, w *world) {
			o.Task.Policy.Compensate, o.Task.Compensate = true, action(w.undo)
		}, []step{half, finish}, Complete, "applied", "act check compensate check act"},
		{"still partial after its one compensation: held", func(o *Options, w *world) {
			o.Task.Policy.Compensate, o.Task.Compensate = true, action(func(context.Context, Attempt) Result {
				w.say("compensate")
				return ok
			})
		}, []step{half}, SomeInDoubt, "partial", "act check compensate check"},
		{"a compensation that fails: held", func(o *Options, w *world) {
			o.Task.Policy.Compensate, o.Task.Compensate = true, action(func(context.Context, Attempt) Result {
				w.say("compensate")
				return Result{Outcome: ledger.FailedAttempt, Error: "no"}
			})
		}, []step{half}, SomeInDoubt, "partial", "act check compensate"},
		{"can't tell: held, and asked once", func(o *Options, w *world) {
			o.Task.Check = action(func(ctx context.Context, at Attempt) Result { w.say("check"); return unclear(ctx, at) })
		}, []step{whole}, SomeInDoubt, "unclear", "act check"},
		{"can't tell, and repeating is safe: repeated", func(o *Options, w *world) {
			o.Task.Policy.Idempotent = true
			o.Task.Check = action(func(ctx context.Context, at Attempt) Result { w.say("check"); return unclear(ctx, at) })
		}, []step{nothing, finish}, Complete, "applied", "act check act"},
		{"asked first, and it is there: never started", func(o *Options, w *world) {
			o.Task.Policy.CheckFirst = true
			w.whole["u000001"] = 1
		}, nil, Complete, "already", "check"},
		{"asked first, and it isn't: started", func(o *Options, _ *world) {
			o.Task.Policy.CheckFirst = true
		}, []step{finish}, Complete, "applied", "check act"},
		{"absent is believed only after its time", func(o *Options, _ *world) {
			o.Task.Policy.CheckAfter = time.Minute
			var passed atomic.Int64
			began := time.Now()
			o.Ledger.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
			o.Observe = func(ev Event) {
				if ev.Settled != nil && ev.Settled.Entry.Detail == ledger.DetailTooEarly {
					passed.Add(int64(time.Minute))
				}
			}
		}, []step{nothing, finish}, Complete, "applied", "act check check act"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			w := &world{whole: map[string]int{}, half: map[string]bool{}}
			p := quick()
			p.Check = true
			n := 0
			o := b.options(ids(1), p, func(_ context.Context, at Attempt) Result {
				w.say("act")
				w.mu.Lock()
				defer w.mu.Unlock()
				n++
				return tt.steps[min(n, len(tt.steps))-1](w, at)
			})
			o.Task.Check = action(w.probe)
			if tt.set != nil {
				tt.set(&o, w)
			}
			s := b.run(o)
			e := b.statuses()["u000001"]
			if s.Result != tt.result || e.Detail != tt.detail || strings.Join(w.log, " ") != tt.log {
				t.Errorf("%s, %v (%s): %v, want %s (%s): %s", s.Result, e.Status, e.Detail, w.log, tt.result, tt.detail, tt.log)
			}
			if w.whole["u000001"] > 1 {
				t.Errorf("the effect is there %d times", w.whole["u000001"])
			}
		})
	}
}
