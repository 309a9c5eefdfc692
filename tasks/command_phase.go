package tasks

import (
	"runner/ledger"
	"runner/runner"
)

// What the exit codes of a check say. All others can't tell.
const (
	exitAbsent  = 1
	exitPartial = 2 // half the effect is there; 0 is all of it
)

// inPhase gives the command as what acts, checks or compensates.
func (s *commandSpec) inPhase(ph ledger.Phase, sur surroundings) runner.Action {
	return &commandAction{spec: *s, surroundings: sur, killAfter: runner.KillAfter, phase: ph}
}

// inPhase says what a result of the command means in its phase. A check and a
// compensation have no exit codes of their own choice.
func (a *commandAction) inPhase(r runner.Result, told bool) runner.Result {
	switch a.phase {
	case ledger.Check:
		return answer(r, told)
	case ledger.Compensate:
		r.Detail = ""
		if r.Outcome == ledger.FailedForGood {
			r.Outcome = ledger.FailedAttempt
		}
	}
	return r
}

// answer says what a check answers. One that was told to end answers nothing,
// whatever its exit code: that may be only how it takes the signal. One that
// couldn't be started hasn't been asked.
func answer(r runner.Result, told bool) runner.Result {
	answers := map[int]ledger.Outcome{exitAbsent: ledger.Absent, exitPartial: ledger.Partial}
	r.Detail = ""
	switch r.Outcome {
	case ledger.NotStarted:
		r.Error = "check: " + r.Error
		return r
	case ledger.Succeeded:
		r.Outcome = ledger.Applied
		return r
	case ledger.FailedAttempt:
		if o, ok := answers[*r.ExitCode]; ok && !told {
			r.Outcome, r.Error = o, ""
			return r
		}
	}
	r.Outcome = ledger.Unclear
	if told && r.ExitCode != nil {
		r.Error = "told to end: " + r.Error
	}
	r.Error = "check: " + r.Error
	return r
}

// didItsJob tells whether the command did what it is for, so that its output
// is of no interest.
func didItsJob(o ledger.Outcome) bool {
	switch o {
	case ledger.Succeeded, ledger.Applied, ledger.Absent, ledger.Partial:
		return true
	}
	return false
}
