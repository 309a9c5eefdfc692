package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Ledger applies the rules to what a store keeps.
type Ledger struct {
	store Store
	// Now and Rand are the clock and the source of jitter, in [0, 1).
	Now  func() time.Time
	Rand func() float64
}

// New puts the rules on top of a store.
func New(s Store) *Ledger {
	return &Ledger{store: s, Now: func() time.Time { return time.Now().UTC() }, Rand: rand.Float64}
}

// Store gives the store underneath, for reading.
func (l *Ledger) Store() Store { return l.store }

// Close closes the store.
func (l *Ledger) Close() error { return l.store.Close() }

// Begin notes a run, and its batch if that is new. With plan set the batch
// counts as being planned by this run until EndPlan. A plan that died stays
// open until another one takes its place.
func (l *Ledger) Begin(ctx context.Context, r *Run, plan bool) error {
	return l.store.Update(ctx, func(tx Tx) error {
		b, err := tx.Batch(r.TaskName, r.ExecuteDate)
		if errors.Is(err, ErrNotFound) {
			b, err = Batch{TaskName: r.TaskName, ExecuteDate: r.ExecuteDate, CreatedAt: l.Now()}, nil
		}
		if err != nil {
			return err
		}
		if plan {
			if b.OpenPlanRun, err = livePlans(tx, b.OpenPlanRun, r.ID); err != nil {
				return err
			}
			b.OpenPlanRun = strings.TrimSpace(b.OpenPlanRun + " " + r.ID)
		}
		b.HaltedAt, b.HaltReason = time.Time{}, "" // somebody has looked
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		r.BatchID = b.ID
		r.No = 0 // the store may call this again after a failed try
		return tx.PutRun(r)
	})
}

// EndPlan tells that everything of the run's input is in the ledger.
func (l *Ledger) EndPlan(ctx context.Context, r Run) error {
	return l.store.Update(ctx, func(tx Tx) error {
		b, err := tx.Batch(r.TaskName, r.ExecuteDate)
		if err != nil {
			return err
		}
		if b.OpenPlanRun, err = livePlans(tx, b.OpenPlanRun, r.ID); err != nil {
			return err
		}
		return tx.PutBatch(&b)
	})
}

// livePlans leaves out of a list of planning runs one of them, and those that
// have ended.
func livePlans(r Reader, list, without string) (string, error) {
	var live []string
	for _, id := range strings.Fields(list) {
		if id == without {
			continue
		}
		runs, err := r.Runs(RunQuery{ID: id})
		if err != nil {
			return "", err
		}
		if len(runs) > 0 && runs[0].EndedAt.IsZero() {
			live = append(live, id)
		}
	}
	return strings.Join(live, " "), nil
}

// End notes how a run ended. A run that still holds a claim can't end: its
// records would be running for ever.
func (l *Ledger) End(ctx context.Context, r *Run) error {
	return l.store.Update(ctx, func(tx Tx) error {
		held, err := tx.List(Query{TaskName: r.TaskName, ExecuteDate: r.ExecuteDate, RunID: r.ID, Statuses: []Status{Running}, Limit: 1})
		if err == nil && len(held) > 0 {
			err = fmt.Errorf("run %s still holds %s", r.ID, held[0].Key)
		}
		if err != nil {
			return err
		}
		return tx.PutRun(r)
	})
}

// settle writes reports by the rules, in their order.
func (l *Ledger) settle(tx Tx, reports []Report, p Policy, now time.Time) ([]Settled, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(reports))
	for i, r := range reports {
		ids[i] = r.RecordID
	}
	entries, err := getMap(tx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Settled, len(reports))
	changes := make([]Change, 0, len(reports))
	var lines []Attempt
	for i, r := range reports {
		before, ok := entries[r.RecordID]
		if !ok {
			out[i] = Settled{r, Entry{}, Stale}
			continue
		}
		after, fate, err := l.settleOne(tx, before, r, p, now)
		if err != nil {
			return nil, err
		}
		if line, ok := storyLine(before, after, r, fate); ok {
			lines = append(lines, line)
		}
		if fate == Moved {
			changes = append(changes, Change{before, after})
			entries[r.RecordID] = after
		}
		out[i] = Settled{r, after, fate}
	}
	if err := swapAll(tx, changes); err != nil {
		return nil, err
	}
	return out, tx.AddAttempts(lines)
}

// settleOne is Settle with what the story of the record knows besides.
func (l *Ledger) settleOne(tx Tx, before Entry, r Report, p Policy, now time.Time) (after Entry, fate Fate, err error) {
	after, fate = Settle(before, r, p, now, l.Rand())
	switch {
	case fate == TooLate:
		stored, err := tx.Attempts(r.RecordID)
		if err != nil {
			return after, fate, err
		}
		if told(stored, r.Fence) {
			fate = Stale
		}
	case fate == Moved && r.Outcome == NotStarted && unresolved(after):
		after, err = l.settleKept(tx, after, p, now)
	}
	return after, fate, err
}

// errChangedMeanwhile undoes a transaction that read what is no longer true.
var errChangedMeanwhile = errors.New("a record was changed by another hand during the transaction")

// swapAll swaps all or nothing.
func swapAll(tx Tx, changes []Change) error {
	stale, err := tx.Swap(changes)
	if err == nil && len(stale) > 0 {
		err = errChangedMeanwhile
	}
	return err
}

// settleKept settles a record that is where it was, because a newer claim of it
// was never used, by the certain outcome that came in the meantime.
func (l *Ledger) settleKept(tx Tx, e Entry, p Policy, now time.Time) (Entry, error) {
	stored, err := tx.Attempts(e.ID)
	if err != nil {
		return e, err
	}
	for _, a := range stored {
		if r, ok := lateReport(a); ok && a.Fence == e.ActFence {
			e, _ = Settle(e, r, p, now, l.Rand())
		}
	}
	return e, nil
}

func getMap(r Reader, ids []int64) (map[int64]Entry, error) {
	entries, err := r.Get(ids)
	if err != nil {
		return nil, err
	}
	m := make(map[int64]Entry, len(entries))
	for _, e := range entries {
		m[e.ID] = e
	}
	return m, nil
}
