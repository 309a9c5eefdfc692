package runner

import (
	"context"
	"time"

	"runner/ledger"
)

// deed is what a fake action does.
type deed int

const (
	succeeds  deed = iota
	fails          // without effect
	vanishes       // takes effect, and nobody knows
	stops          // has no effect, and nobody knows
	halves         // takes half an effect, and nobody knows
	postpones      // asks for later
	gives          // up: fails for good, without effect
	cantStart      // no process can be made
	hangs          // takes effect, and hangs until it is ended
	idles          // hangs without effect until it is ended
)

func (d deed) String() string {
	return [...]string{"ok", "fail", "effect?", "nothing?", "half?", "later", "fail for good", "can't start", "effect, hang", "hang"}[d]
}

// applies tells whether it takes its whole effect.
func (d deed) applies() bool { return d == succeeds || d == vanishes || d == hangs }

func (d deed) hanging() bool { return d == hangs || d == idles }

func (p *proc) action(ph ledger.Phase) action {
	return func(ctx context.Context, at Attempt) Result {
		p.stagger(at.BizID)
		e := p.m.entries()[at.BizID]
		tr := p.begin(ph, at, e)
		if tr == nil {
			return Result{Outcome: ledger.NotStarted, Error: "no processes"}
		}
		if tr.nth%2 == 0 { // else the moment before its pid is written
			at.Started(1 << 30)
		}
		if p.plan.during != nil && p.plan.during.nth == tr.nth {
			p.plan.during.happens(p.m)
		}
		p.works(ctx, tr)
		return p.finish(tr)
	}
}

// stagger keeps workers and runs from acting at the same moment, so that what
// happens depends on nothing but what was drawn. No two sums of these are the
// same, and the time of a bubble goes on only when nothing else does.
func (p *proc) stagger(biz string) {
	d := map[string]time.Duration{"a": 1013, "b": 2129, "c": 4337, "d": 8741, "e": 17929}[biz]
	time.Sleep((d + 31*time.Duration(p.no)) * time.Microsecond)
}

// begin starts a process, unless its runner died at that moment.
func (p *proc) begin(ph ledger.Phase, at Attempt, e ledger.Entry) *trial {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if p.dead {
		return nil
	}
	p.starts++
	tr := &trial{
		id: at.ID, biz: at.BizID, proc: p, phase: ph, gen: at.Generation, fence: at.Fence, nth: p.starts, living: true, at: p.m.now(),
	}
	if tr.nth <= len(p.plan.deeds) {
		tr.deed = p.plan.deeds[tr.nth-1]
	}
	if tr.deed == cantStart {
		p.m.say("%s can't start", at.BizID)
		return nil
	}
	p.m.starts(p, tr, at, e)
	switch p.doomAt(duringStarts, tr.nth) {
	case dieBeforeEffect:
		p.kill()
	case journalFull:
		p.e.file.mu.Lock()
		p.e.file.err = errFull
		p.e.file.mu.Unlock()
	case asked:
		p.e.Stop.Ask()
	case askedTwice:
		p.e.Stop.Ask()
		p.e.Stop.Ask()
	}
	return tr
}

// works takes its time, or hangs.
func (p *proc) works(ctx context.Context, tr *trial) {
	var over <-chan time.Time
	if !tr.deed.hanging() {
		over = time.After(p.plan.takes)
	}
	select {
	case <-over:
	case <-p.killed:
	case <-ctx.Done():
		p.m.mu.Lock()
		defer p.m.mu.Unlock()
		switch { // it was signalled, and didn't fail by itself
		case tr.phase == ledger.Act && tr.deed.applies():
			tr.deed = hangs
		default:
			tr.deed = idles
		}
	}
}

// finish takes effect and tells the runner, if there still is one.
func (p *proc) finish(tr *trial) Result {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if !p.dead {
		p.m.takesEffect(tr)
		if p.doomAt(duringStarts, tr.nth) == dieAfterEffect {
			p.kill()
		}
	}
	if p.dead {
		if tr.living = p.plan.doom.survives; tr.living {
			p.m.alive[tr.id] = tr
		}
		p.m.say("%s %s#%d (%s) loses its runner", tr.phase, tr.biz, tr.fence, tr.deed)
		return Result{Outcome: ledger.Unknown}
	}
	r := p.m.result(tr)
	p.m.learns(tr, r.Outcome)
	p.m.say("%s %s#%d %s", tr.phase, tr.biz, tr.fence, r.Outcome)
	return r
}

// result is what a runner is told.
func (m *model) result(tr *trial) Result {
	switch tr.phase {
	case ledger.Check:
		return Result{Outcome: m.truth(tr)}
	case ledger.Compensate:
		switch tr.deed {
		case succeeds:
			return Result{Outcome: ledger.Succeeded}
		case fails, gives, postpones:
			return Result{Outcome: ledger.FailedAttempt, Error: "no"}
		}
		return Result{Outcome: ledger.Unknown, Error: "timeout"}
	}
	switch tr.deed {
	case succeeds:
		return Result{Outcome: ledger.Succeeded}
	case fails:
		return Result{Outcome: ledger.FailedAttempt, Error: "no"}
	case gives:
		return Result{Outcome: ledger.FailedForGood, Error: "never"}
	case postpones:
		return Result{Outcome: ledger.AskedLater, RetryAfter: time.Minute}
	}
	return Result{Outcome: ledger.Unknown, Error: "timeout"}
}

// truth is the answer of a check, which may be unable to tell but never lies.
func (m *model) truth(tr *trial) ledger.Outcome {
	f := m.facts[tr.biz]
	switch {
	case tr.deed.hanging():
		return ledger.Unknown
	case tr.deed == stops || tr.deed == vanishes:
		return ledger.Unclear
	case f.half[tr.gen]:
		return ledger.Partial
	case f.whole[tr.gen] > 0:
		return ledger.Applied
	}
	return ledger.Absent
}
