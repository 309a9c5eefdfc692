package ledger

import (
	"context"
	"time"
)

// The rules of a record in doubt: ask, undo half an effect, repeat, or hold.

func judgeDoubt(e Entry, p Policy, now time.Time, asked bool) Verdict {
	start := Hold
	switch {
	case p.Check && p.Compensate && e.Detail == DetailPartial && e.CompFence == 0:
		start = StartCompensate
	case p.Check && (!asked || unasked(e)):
		start = StartCheck
	case p.Idempotent && e.Attempts < p.Attempts && (!p.Check || e.Detail == DetailUnclear):
		start = StartAct
	}
	if start != Hold && !due(e, now) {
		return Verdict{Wait, e.NotBefore}
	}
	return Verdict{Do: start}
}

// unasked tells whether the answer of a check is still to come, also in a run
// that has asked it before: of an earlier doubt, or too early.
func unasked(e Entry) bool {
	return e.Detail == DetailUnknown || e.Detail == DetailTooEarly || e.Detail == DetailCompensated
}

func settleCheck(e Entry, r Report, p Policy, now time.Time) Entry {
	if r.Outcome == NotStarted {
		return giveBack(e, r, now)
	}
	e.Suspect = e.Suspect || r.CutOff
	e.wait(now, 0)
	switch r.Outcome {
	case Applied, Succeeded:
		e.Status, e.Detail, e.Error = Done, DetailAlready, ""
		e.EndedAt, e.AskFirst = r.EndedAt, false
		if r.Result != "" {
			e.Result = r.Result
		}
		if e.StartedAt.IsZero() {
			e.StartedAt = r.StartedAt
		}
	case Absent:
		return settleAbsent(e, p, now)
	case Partial:
		e.Status, e.Detail, e.AskFirst = InDoubt, DetailPartial, false
		e.Error = "the check found half an effect"
		if e.CompFence != 0 {
			e.Error = "the check still found half an effect after the compensation"
		}
	default:
		e.Status, e.Detail, e.AskFirst = InDoubt, DetailUnclear, false
		if r.Error != "" {
			e.Error = r.Error
		}
	}
	e.Phase = Act
	return e
}

// settleAbsent believes a check that found no effect, unless it was asked too
// early after an attempt that may still take effect.
func settleAbsent(e Entry, p Policy, now time.Time) Entry {
	e.Phase = Act
	believed := e.EndedAt.Add(p.CheckAfter)
	doubted := inDoubt(e) || e.AskFirst && e.ActFence > 0
	switch {
	case doubted && p.CheckAfter > 0 && now.Before(believed):
		e.Status, e.Detail = Pending, ""
		if !e.AskFirst {
			e.Status, e.Detail = InDoubt, DetailTooEarly
		}
		e.wait(now, min(believed.Sub(now), p.CheckAfter)) // or the clock was set back
	case inDoubt(e) && e.Attempts >= p.Attempts:
		e.Status, e.Detail = Failed, DetailAbsent
	default:
		e.Status, e.Detail, e.AskFirst = Pending, DetailAbsent, false
	}
	return e
}

func settleCompensate(e Entry, r Report, now time.Time) Entry {
	if r.Outcome == NotStarted {
		return giveBack(e, r, now)
	}
	e.Status, e.Phase = InDoubt, Act
	e.CompFence = r.Fence
	e.Suspect = e.Suspect || r.CutOff
	e.wait(now, 0)
	e.Detail = DetailCompensated
	if r.Outcome != Succeeded {
		e.Detail = DetailPartial
		e.Error = "compensation: " + r.Error
	}
	return e
}

// DoubtSince is when the attempt of a record in doubt started. One that never
// started, as after a restore, counts from when it was put in doubt.
func (e Entry) DoubtSince() time.Time {
	if e.StartedAt.IsZero() {
		return e.EndedAt
	}
	return e.StartedAt
}

// doubtPage is how many records in doubt are read at once.
const doubtPage = 500

// OldestDoubt gives the record of some tasks, or with nil of all, that has been
// in doubt for longest; nil if there is none.
func (l *Ledger) OldestDoubt(ctx context.Context, tasks []string) (oldest *Entry, err error) {
	if tasks == nil {
		tasks = []string{""}
	}
	for _, task := range tasks {
		for e, err := range l.Each(ctx, Query{TaskName: task, Statuses: []Status{InDoubt}, Limit: doubtPage}) {
			if err != nil {
				return nil, err
			}
			if oldest == nil || e.DoubtSince().Before(oldest.DoubtSince()) {
				oldest = &e
			}
		}
	}
	return oldest, nil
}
