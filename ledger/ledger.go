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

// New puts the rules on top of a store. Their clock is the store's, if it has
// one.
func New(s Store) *Ledger {
	l := &Ledger{store: s, Now: func() time.Time { return time.Now().UTC() }, Rand: rand.Float64}
	if c, ok := s.(Clock); ok {
		l.Now = c.Now
	}
	return l
}

// Store gives the store underneath, for reading.
func (l *Ledger) Store() Store { return l.store }

// Close closes the store.
func (l *Ledger) Close() error { return l.store.Close() }

// Begin notes a run, and its batch if that is new. With plan set the batch
// counts as being planned by this run until EndPlan. A plan that died stays
// open until another one takes its place. It fails with *SealedError.
func (l *Ledger) Begin(ctx context.Context, r *Run, plan bool) error {
	return l.store.Update(ctx, func(tx Tx) error {
		b, err := tx.Batch(r.TaskName, r.ExecuteDate)
		if errors.Is(err, ErrNotFound) {
			b, err = Batch{TaskName: r.TaskName, ExecuteDate: r.ExecuteDate, CreatedAt: l.Now()}, nil
		}
		if err != nil {
			return err
		}
		if err := b.open(); err != nil {
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

// swapAll swaps all or nothing.
func swapAll(tx Tx, changes []Change) error {
	stale, err := tx.Swap(changes)
	if err == nil && len(stale) > 0 {
		err = ErrRaced
	}
	return err
}
