package ledger

import (
	"cmp"
	"slices"
	"time"
)

// storyLine is what a settled claim adds to the story of its record. A
// success that settled its record adds nothing, unless its output is kept:
// Told derives it from the record, which saves a row for nearly every record there is.
func storyLine(before, after Entry, r Report, fate Fate) (Attempt, bool) {
	if fate == Stale || r.Outcome == NotStarted {
		return Attempt{}, false
	}
	late := fate == TooLate || before.Status != Running || before.Fence != r.Fence
	if r.Phase == Act && r.Outcome == Succeeded && !late && r.Output == "" {
		return Attempt{}, false
	}
	a := Attempt{
		RecordID: before.ID, Fence: r.Fence, Phase: r.Phase, Generation: before.Generation, Number: before.Attempts,
		RunID: r.RunID, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Status: after.Status, Detail: after.Detail,
		Result: r.Result, ExitCode: r.ExitCode, Error: r.Error, Output: r.Output,
	}
	if r.Phase == Act && !late {
		a.Number = before.Attempts + 1
	}
	if late {
		a.Status, a.Detail = statusOf(r.Outcome), r.Detail
		a.Late, a.LateDetail, a.LateAt = r.Outcome.String(), cmp.Or(r.Error, r.Result), r.EndedAt
	}
	return a, true
}

// statusOf is the status that an outcome alone amounts to.
func statusOf(o Outcome) Status {
	switch o {
	case Succeeded, Applied:
		return Done
	case FailedAttempt, FailedForGood:
		return Failed
	case NotStarted, AskedLater, Absent:
		return Pending
	default:
		return InDoubt
	}
}

// decided is what an operator's decision adds to the story of a record,
// before which comes the success that it puts an end to.
func decided(before, after Entry, d Decision, now time.Time) []Attempt {
	var lines []Attempt
	if a, ok := success(before); ok {
		lines = append(lines, a)
	}
	if after.Fence == before.Fence {
		return lines
	}
	return append(lines, Attempt{
		RecordID: before.ID, Fence: after.Fence, Phase: Operator, Generation: after.Generation, Number: after.Attempts,
		Actor: d.Actor, StartedAt: now, EndedAt: now, Status: after.Status, Detail: after.Detail, Error: d.Reason,
	})
}

// success is the successful attempt that made a record done.
func success(e Entry) (Attempt, bool) {
	if e.Status != Done || e.ActFence == 0 || e.Detail == DetailMarked {
		return Attempt{}, false
	}
	return Attempt{
		RecordID: e.ID, Fence: e.ActFence, Phase: Act, Generation: e.Generation, Number: e.Attempts, RunID: e.RunID,
		StartedAt: e.StartedAt, EndedAt: e.EndedAt, Status: Done, Detail: e.Detail, Result: e.Result, ExitCode: e.ExitCode,
	}, true
}

// Told completes the stored story of a record.
func Told(e Entry, stored []Attempt) []Attempt {
	last, ok := success(e)
	for _, a := range stored {
		if a.Fence == last.Fence {
			ok = false
		}
	}
	if !ok {
		return stored
	}
	for i, a := range stored {
		if a.Fence > last.Fence {
			return append(stored[:i:i], append([]Attempt{last}, stored[i:]...)...)
		}
	}
	return append(stored, last)
}

// told tells whether a story holds the outcome of a claim already: what comes
// again, from the journal of a run that died after it was settled, isn't late.
func told(stored []Attempt, fence int64) bool {
	return slices.ContainsFunc(stored, func(a Attempt) bool {
		return a.Fence == fence && (a.Status != InDoubt || a.Late != "")
	})
}

// lateReport is the certain outcome that a line of a story has kept because
// it came when a newer claim was held.
func lateReport(a Attempt) (Report, bool) {
	var o Outcome
	if a.Late == "" || o.UnmarshalText([]byte(a.Late)) != nil || !o.Certain() {
		return Report{}, false
	}
	r := Report{
		RecordID: a.RecordID, Fence: a.Fence, Phase: Act, RunID: a.RunID, Outcome: o,
		Result: a.Result, ExitCode: a.ExitCode, StartedAt: a.StartedAt, EndedAt: a.LateAt,
	}
	if o == Succeeded { // storyLine keeps the result where a failure has its error
		r.Result = cmp.Or(a.LateDetail, a.Result)
	} else {
		r.Error = a.LateDetail
	}
	return r, true
}
