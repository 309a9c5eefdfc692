package ledger

import "time"

// Flow control is stored with the batch, so that every run of it keeps to it.

// Pause is the time until which nothing of a batch is started. A pause that
// is longer than any record may ask for can only come from a clock that was
// set back, and is none.
func Pause(b Batch, p Policy, now time.Time) time.Time {
	if !b.PausedUntil.After(now) || b.PausedUntil.Sub(now) > p.MaxLater+p.MaxLater/10 {
		return time.Time{}
	}
	return b.PausedUntil
}

// pauseFor is the batch after a record has asked for a later time: a service
// that can't answer one record now can't answer the others either.
func pauseFor(b Batch, e Entry) (Batch, bool) {
	if e.Status != Pending || e.Detail != DetailLater || !e.NotBefore.After(b.PausedUntil) {
		return b, false
	}
	b.PausedUntil = e.NotBefore
	return b, true
}

// Halted tells whether a batch was halted after a run of it had started.
func Halted(b Batch, started time.Time) bool { return b.HaltedAt.After(started) }
