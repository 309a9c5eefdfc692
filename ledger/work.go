package ledger

import (
	"context"
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
//
// It reads, decides and writes, in this order: a store far away is mostly
// asked twice, not once for each thing.
//
// Whatever waits for another transaction holds nothing that one could wait for:
// candidates are passed by where others hold them, what the run has claimed is
// changed by nobody else, and the batch comes last.
func (l *Ledger) Work(ctx context.Context, w Work) (out Worked, err error) {
	buf := changesPool.Get().(*[]Change)
	changes := *buf
	defer func() { giveBackChanges(buf, changes) }()
	err = l.store.Update(ctx, func(tx Tx) error {
		out = Worked{}
		now := l.Now()
		held := w.Held
		w.Held = nil // if all this is to be done again, it may be why
		ids := w.Candidates
		if w.Max == 0 {
			out.Rest, ids = ids, nil
		}
		var c candidates
		var err error
		if out.Batch, c.free, c.busy, err = tx.Lock(w.Run, ids); err != nil {
			return err
		}
		if len(w.Candidates) > 0 { // outcomes are never refused
			if err := out.Batch.open(); err != nil {
				return err
			}
		}
		if c.settlement, err = l.weigh(tx, w.Reports, w.Policy, now, held, changes); err != nil {
			return err
		}
		out.Settled = c.settled
		control := flow(w, now, &out)
		changes = c.changes
		settle := len(changes)
		if Halted(out.Batch, w.Run.StartedAt) || !Pause(out.Batch, w.Policy, now).IsZero() {
			out.Rest = w.Candidates
		} else {
			changes = choose(w, ids, c, now, &out, changes)
		}
		if err := tx.Swap(changes); err != nil {
			return err
		}
		out.Claimed = make([]Entry, 0, len(changes)-settle)
		for _, c := range changes[settle:] {
			out.Claimed = append(out.Claimed, c.New)
		}
		if err := tx.AddAttempts(c.lines); err != nil || !control {
			return err
		}
		return tx.PutBatch(&out.Batch)
	})
	return out, err
}

// flow sees to the flow control of the batch, and tells whether there is news.
func flow(w Work, now time.Time, out *Worked) (news bool) {
	for _, s := range out.Settled {
		if s.Outcome == AskedLater && s.Fate == Moved {
			var paused bool
			out.Batch, paused = pauseFor(out.Batch, s.Entry)
			news = news || paused
		}
	}
	if w.Halt != "" && !Halted(out.Batch, w.Run.StartedAt) {
		out.Batch.HaltedAt, out.Batch.HaltReason = now, w.Halt
		news = true
	}
	return news
}

// changesPool keeps lists of changes, which are large and live for a moment.
var changesPool = sync.Pool{New: func() any { return new([]Change) }}

func giveBackChanges(buf *[]Change, changes []Change) {
	clear(changes[:cap(changes)])
	*buf = changes[:0]
	changesPool.Put(buf)
}

// candidates are records that may be claimed, as they were found, and what the
// same transaction settles.
type candidates struct {
	free []Entry
	busy []int64
	settlement
}

// others are candidates that are in other hands.
func (c *candidates) others() map[int64]bool {
	ids := make(map[int64]bool, len(c.busy))
	for _, id := range c.busy {
		if _, settled := c.moved[id]; !settled {
			ids[id] = true
		}
	}
	return ids
}

// choose adds claims of the candidates that the rules let start, until there
// are enough.
func choose(w Work, ids []int64, c candidates, now time.Time, out *Worked, changes []Change) []Change {
	others := c.others()
	entries := c.free // in the order of ids
	enough := len(changes) + w.Max
	for i, id := range ids {
		if len(changes) == enough {
			out.Rest = ids[i:]
			break
		}
		var e Entry
		there := len(entries) > 0 && entries[0].ID == id
		if there {
			e, entries = entries[0], entries[1:]
		}
		switch at, moved := c.moved[id]; {
		case others[id]:
			out.Left = append(out.Left, Judged{Entry: Entry{ID: id}, Verdict: Verdict{Do: Busy}})
			continue
		case moved:
			e = c.settled[at].Entry
		case !there: // it doesn't exist
			continue
		}
		v := Judge(e, w.Policy, now, w.Asked != nil && w.Asked(e.ID))
		if !v.Do.Starts() || Alone(e) != w.Alone || w.AskOnly && v.Do != StartCheck {
			out.Left = append(out.Left, Judged{Entry: e, Verdict: v})
			continue
		}
		changes = append(changes, Change{e, Claim(e, v.Do.Phase(), w.Run.ID)})
		others[id] = true // from here on
	}
	return changes
}
