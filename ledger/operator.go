package ledger

import "time"

// Decision is what an operator decides about a record.
type Decision struct {
	Actor  string
	Reason string
	Insist bool // the operator was asked, and insists
	// Generation is that of the done records that are to be done again.
	Generation int
}

// Rerun makes a record runnable again, with its attempts unused and the same
// idempotency key; a done one gets a new generation and with it a new key. It
// fails with *RefusedError.
func Rerun(e Entry, d Decision, p Policy) (Entry, error) {
	n := e
	switch e.Status {
	case Running:
		return e, &RefusedError{Key: e.Key, Status: e.Status, Busy: true, Why: "it is running in run " + e.RunID}
	case Pending:
		n.NotBefore, n.Delay = time.Time{}, 0
		return n, nil
	case Done:
		switch {
		case e.Generation != d.Generation:
			return e, &RefusedError{Key: e.Key, Status: e.Status, Why: "it is done in another generation"}
		case !d.Insist:
			return e, &RefusedError{Key: e.Key, Status: e.Status, Asks: true, Why: "it is done, and would be done again"}
		}
		n.Generation++
		n.Result, n.Error, n.ExitCode = "", "", nil
	}
	if e.Status == InDoubt || e.Status == Skipped && e.ActFence != 0 { // skipping resolves no doubt
		if !p.Check && !p.Idempotent && !d.Insist {
			return e, &RefusedError{Key: e.Key, Status: e.Status, Asks: true, Why: "it is in doubt: it may have taken effect, and would be repeated"}
		}
		n.AskFirst = p.Check
	} else {
		n.ActFence = 0 // what was started before says nothing of what comes
	}
	n.Status, n.Detail = Pending, ""
	n.Attempts = 0
	n.Fence++
	n.NotBefore, n.Delay, n.LaterSince = time.Time{}, 0, time.Time{}
	return n, nil
}

// Mark settles a record by an operator's word. It fails with *RefusedError.
func Mark(e Entry, as Status, d Decision, now time.Time) (Entry, error) {
	switch {
	case e.Status == Running:
		return e, &RefusedError{Key: e.Key, Status: e.Status, Busy: true, Why: "it is running in run " + e.RunID}
	case e.Status == Done || e.Status == Skipped:
		return e, &RefusedError{Key: e.Key, Status: e.Status, Why: "it is " + e.Status.String() + " already"}
	case as != Done && as != Skipped && as != Failed:
		return e, &RefusedError{Key: e.Key, Status: e.Status, Why: "it can't be marked as " + as.String()}
	}
	n := e
	n.Status, n.Detail = as, DetailMarked
	n.EndedAt = now
	n.Error = d.Reason
	n.AskFirst = false
	if as != Skipped {
		n.ActFence = 0 // the operator knows how it ended
	}
	n.Fence++
	n.NotBefore, n.Delay, n.LaterSince = time.Time{}, 0, time.Time{}
	return n, nil
}

// TakesPayload tells whether a known record takes the changed payload of its
// input: only before its first start, for what was started once must go on
// with what it started with, unless an operator insists.
func TakesPayload(e Entry, insist bool) bool {
	return e.Status == Pending && (insist || e.Attempts == 0 && e.ActFence == 0 && e.StartedAt.IsZero())
}
