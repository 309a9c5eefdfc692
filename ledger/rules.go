package ledger

import "time"

// Do is what a run may do with a record of its scope now.
type Do uint8

// What Judge can find.
const (
	Nothing         Do = iota // it is done, failed or skipped
	StartAct                  // start its action
	StartCheck                // ask whether its effect is there
	StartCompensate           // undo half an effect
	Wait                      // it isn't due before Verdict.Until
	Hold                      // in doubt, and a person must decide
	Busy                      // a run holds it
)

// Starts tells whether the record is to be claimed.
func (d Do) Starts() bool { return d == StartAct || d == StartCheck || d == StartCompensate }

// Phase is the phase of the claim that a starting Do needs.
func (d Do) Phase() Phase {
	switch d {
	case StartCheck:
		return Check
	case StartCompensate:
		return Compensate
	default:
		return Act
	}
}

// Verdict is what Judge finds.
type Verdict struct {
	Do    Do
	Until time.Time // of Wait
}

// Judge says what a run may do with a record. asked tells that this run has
// asked the record's check already: of each doubt it is asked once a run, so
// that a check that can't tell doesn't go round in circles.
func Judge(e Entry, p Policy, now time.Time, asked bool) Verdict {
	switch e.Status {
	case Running:
		return Verdict{Do: Busy}
	case Pending:
		switch {
		case !due(e, now):
			return Verdict{Wait, e.NotBefore}
		case e.AskFirst && !p.Check && !p.Idempotent:
			return Verdict{Do: Hold} // the check it should be asked is gone from the definition
		case p.Check && (e.AskFirst || p.CheckFirst && e.Attempts == 0 && e.Detail != DetailAbsent):
			return Verdict{Do: StartCheck}
		}
		return Verdict{Do: StartAct}
	case InDoubt:
		return judgeDoubt(e, p, now, asked)
	default:
		return Verdict{Do: Nothing}
	}
}

// due tells whether a record's waiting time is over. A NotBefore further off
// than its own delay can only come from a clock that was set back, and waits
// for nothing.
func due(e Entry, now time.Time) bool {
	return !now.Before(e.NotBefore) || e.NotBefore.Sub(now) > e.Delay
}

// NeedsPerson tells whether no run with this policy would go on with it.
func NeedsPerson(e Entry, p Policy, now time.Time) bool {
	return Judge(e, p, now, true).Do == Hold
}

// Alone tells whether a record must be started while nothing else runs: an
// attempt of it was cut off together with its runner, which it may have
// caused.
func Alone(e Entry) bool { return e.Suspect }

// Claim gives a record to a run. What was known before stays, so that a
// claim which is never used can be given back.
func Claim(e Entry, ph Phase, runID string) Entry {
	e.Status = Running
	e.Phase = ph
	e.RunID = runID
	e.Fence++
	return e
}

// Fate is what became of a report.
type Fate uint8

// What can become of a report.
const (
	Moved   Fate = iota // the record moved
	TooLate             // certain, but the record has gone on: kept in its story
	Stale               // known already, or worth nothing
)

// Settle moves a record by what became of a claim of it.
//
// The holder of the claim always moves it. Anyone else only brings certain
// outcomes of the action: one of the newest act attempt settles the record
// until a newer one or a compensation has been claimed, whether it is in
// doubt, being checked, or to be repeated; others are too late.
func Settle(e Entry, r Report, p Policy, now time.Time, rnd float64) (Entry, Fate) {
	if e.Status == Running && e.Fence == r.Fence {
		switch e.Phase {
		case Check:
			return settleCheck(e, r, p, now), Moved
		case Compensate:
			return settleCompensate(e, r, now), Moved
		default:
			return settleAct(e, r, p, now, rnd), Moved
		}
	}
	switch {
	case e.Fence == r.Fence && e.Status != InDoubt: // it has been settled by this very report
		return e, Stale
	case r.Phase == Check && r.Outcome != NotStarted && e.Fence > r.Fence:
		return e, TooLate
	case r.Phase != Act || !r.Outcome.Certain():
		return e, Stale
	}
	if !unresolved(e) || r.Fence != e.ActFence {
		return e, TooLate
	}
	e.Attempts-- // it was counted when it was put in doubt
	n := settleAct(e, r, p, now, rnd)
	n.Attempts = max(n.Attempts, 0) // a rerun had set it to 0
	n.Fence = e.Fence + 1           // ends the claim of a check
	if n.Status == Done {
		n.Detail = DetailLate
	}
	return n, Moved
}

// unresolved tells whether the outcome of the newest act attempt isn't known,
// and nothing has been started that would make it meaningless.
func unresolved(e Entry) bool {
	if e.ActFence == 0 || e.CompFence != 0 {
		return false
	}
	return e.Status == InDoubt || e.Status == Pending || e.Status == Running && e.Phase == Check
}

// inDoubt tells whether a claimed record was in doubt before.
func inDoubt(e Entry) bool {
	switch e.Detail {
	case DetailUnknown, DetailTooEarly, DetailPartial, DetailUnclear, DetailCompensated:
		return true
	}
	return false
}

// giveBack undoes a claim that was never used.
func giveBack(e Entry, r Report, now time.Time) Entry {
	e.Status, e.Phase = Pending, Act
	if inDoubt(e) {
		e.Status = InDoubt
	}
	if r.RetryAfter > 0 { // it could not be started
		e.wait(now, r.RetryAfter)
		e.Error = r.Error
	}
	return e
}

func (e *Entry) wait(now time.Time, d time.Duration) {
	e.Delay = d
	e.NotBefore = time.Time{}
	if d > 0 {
		e.NotBefore = now.Add(d)
	}
}

func settleAct(e Entry, r Report, p Policy, now time.Time, rnd float64) Entry {
	if r.Outcome == NotStarted {
		return giveBack(e, r, now)
	}
	e.Phase = Act
	e.ActFence, e.CompFence = r.Fence, 0
	e.StartedAt, e.EndedAt = r.StartedAt, r.EndedAt
	e.ExitCode, e.Error, e.Result = r.ExitCode, r.Error, r.Result
	e.Detail = r.Detail
	e.AskFirst = false
	e.Suspect = r.CutOff
	e.wait(now, 0)
	if r.Outcome != AskedLater {
		e.Attempts++
		e.LaterSince = time.Time{}
	}
	if r.Outcome.Certain() && r.Outcome != Succeeded {
		e.ActFence = 0 // nothing is left to be learned of it
	}
	switch r.Outcome {
	case Succeeded:
		e.Status = Done
		if e.Detail == "" {
			e.Detail = DetailApplied
		}
	case FailedAttempt:
		e.Status, e.Detail = Failed, ""
		if e.Attempts < p.Attempts {
			e.Status = Pending
			e.wait(now, p.backoff(e.Attempts, rnd))
		}
	case FailedForGood:
		e.Status, e.Detail = Failed, ""
	case AskedLater:
		e = askedLater(e, r, p, now, rnd)
	default:
		e.Status, e.Detail = InDoubt, DetailUnknown
		if p.Idempotent && !p.Check {
			e.wait(now, p.backoff(e.Attempts, rnd))
		}
	}
	return e
}

// minLater keeps a record that asks for no time at all from asking at once.
const minLater = time.Second

func askedLater(e Entry, r Report, p Policy, now time.Time, rnd float64) Entry {
	if e.LaterSince.IsZero() {
		e.LaterSince = now
	}
	if now.Sub(e.LaterSince) >= p.MaxLater {
		e.Status, e.Detail = Failed, DetailLater
		return e
	}
	e.Status, e.Detail = Pending, DetailLater
	later := max(r.RetryAfter, minLater)
	e.wait(now, later+time.Duration(rnd*float64(later)/10)) // a lower bound, jittered
	return e
}
