package ledger

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Work is what a run brings to the ledger, and what it wants from it.
type Work struct {
	Run     Run
	Policy  Policy
	Reports []Report
	Held    map[int64]Entry // the claims of the run, as it got them; may be nil
	Halt    string          // why nothing more of the batch may be started; empty: it may
	// Candidates are numbers of records to claim in this order, at most Max
	// of them. Alone claims, of those that must be started while nothing else
	// runs, the first; otherwise these are left.
	Candidates []int64
	Max        int
	Alone      bool
	AskOnly    bool // claim for checks only
	// Asked tells whether this run has asked the check of a record.
	Asked func(id int64) bool
}

// Worked is what became of a Work.
type Worked struct {
	Settled []Settled // one for each report
	Claimed []Entry
	Left    []Judged // candidates that can't be claimed now
	Batch   Batch    // as it is now, but for its counts
	Rest    []int64  // candidates not looked at
}

// Settled is what became of a report.
type Settled struct {
	Report
	Entry Entry // the record afterwards
	Fate  Fate
}

// Judged is a record that wasn't claimed, and why.
type Judged struct {
	Entry Entry
	Verdict
}

// Work settles reports and claims records in one durable transaction: the
// outcomes it returns may be told, the claims it returns may be started.
func (l *Ledger) Work(ctx context.Context, w Work) (Worked, error) {
	var out Worked
	err := l.store.Update(ctx, func(tx Tx) (err error) {
		out = Worked{}
		now := l.Now()
		if out.Settled, err = l.settle(tx, w.Reports, w.Policy, now, w.Held); err != nil {
			return err
		}
		if err := flow(tx, w, now, &out); err != nil {
			return err
		}
		if Halted(out.Batch, w.Run.StartedAt) || !Pause(out.Batch, w.Policy, now).IsZero() {
			out.Rest = w.Candidates
			return nil
		}
		return l.claim(tx, w, now, &out)
	})
	return out, err
}

// flow reads the flow control of the batch, and writes what has come to it.
func flow(tx Tx, w Work, now time.Time, out *Worked) (err error) {
	if out.Batch, err = tx.Batch(w.Run.TaskName, w.Run.ExecuteDate); err != nil {
		return err
	}
	if len(w.Candidates) > 0 { // outcomes are never refused
		if err := out.Batch.open(); err != nil {
			return err
		}
	}
	changed := false
	for _, s := range out.Settled {
		if s.Outcome == AskedLater && s.Fate == Moved {
			var paused bool
			out.Batch, paused = pauseFor(out.Batch, s.Entry)
			changed = changed || paused
		}
	}
	if w.Halt != "" && !Halted(out.Batch, w.Run.StartedAt) {
		out.Batch.HaltedAt, out.Batch.HaltReason = now, w.Halt
		changed = true
	}
	if !changed {
		return nil
	}
	return tx.PutBatch(&out.Batch)
}

func (l *Ledger) claim(tx Tx, w Work, now time.Time, out *Worked) error {
	if w.Max == 0 {
		out.Rest = w.Candidates
	}
	if len(w.Candidates) == 0 || w.Max == 0 {
		return nil
	}
	free, busy, err := tx.Lock(w.Candidates)
	if err != nil {
		return err
	}
	buf := changesPool.Get().(*[]Change)
	changes := choose(w, free, busy, now, out, *buf)
	defer giveBackChanges(buf, changes)
	stale, err := tx.Swap(changes)
	if err != nil {
		return err
	}
	slices.Sort(stale)
	out.Claimed = make([]Entry, 0, len(changes))
	for i := range changes {
		if len(stale) > 0 && stale[0] == i { // taken by another run, since we read it
			stale = stale[1:]
			out.Left = append(out.Left, Judged{Entry: changes[i].New, Verdict: Verdict{Do: Busy}})
			continue
		}
		out.Claimed = append(out.Claimed, changes[i].New)
	}
	return nil
}

// changesPool keeps lists of changes, which are large and live for a moment.
var changesPool = sync.Pool{New: func() any { return new([]Change) }}

func giveBackChanges(buf *[]Change, changes []Change) {
	clear(changes)
	*buf = changes[:0]
	changesPool.Put(buf)
}

// choose makes claims of the candidates that the rules let start, until there
// are enough. entries are those that exist and are free, in the same order.
func choose(w Work, entries []Entry, busy []int64, now time.Time, out *Worked, changes []Change) []Change {
	others := make(map[int64]bool, len(busy))
	for _, id := range busy {
		others[id] = true
	}
	for i, id := range w.Candidates {
		if len(changes) == w.Max {
			out.Rest = w.Candidates[i:]
			break
		}
		if len(entries) == 0 || entries[0].ID != id { // it doesn't exist, or another run is at it
			if others[id] {
				out.Left = append(out.Left, Judged{Entry: Entry{ID: id}, Verdict: Verdict{Do: Busy}})
			}
			continue
		}
		e := entries[0]
		entries = entries[1:]
		v := Judge(e, w.Policy, now, w.Asked != nil && w.Asked(e.ID))
		if !v.Do.Starts() || Alone(e) != w.Alone || w.AskOnly && v.Do != StartCheck {
			out.Left = append(out.Left, Judged{Entry: e, Verdict: v})
			continue
		}
		changes = append(changes, Change{e, Claim(e, v.Do.Phase(), w.Run.ID)})
	}
	return changes
}
