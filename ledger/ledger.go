package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// shared tells whether runs on other hosts use this ledger. Where they don't,
// the other shards of an input are in ledgers of their own.
func (l *Ledger) shared() bool {
	_, ok := l.store.(Leaser)
	return ok
}

// Begin notes a run, and its batch if that is new. With plan set the batch
// counts as being planned by this run until EndPlan. A plan that died stays
// open until another one takes its place, and a batch that a shard begins in a
// ledger that hosts share until all shards have planned. It fails with *SealedError.
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
			if err := beginPlan(tx, &b, r, l.shared()); err != nil {
				return err
			}
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

// EndPlan tells that the run plans nothing more, and whether everything of its
// input, or of its shard of it, is in the ledger.
func (l *Ledger) EndPlan(ctx context.Context, r Run, planned bool) error {
	return l.store.Update(ctx, func(tx Tx) error {
		b, err := tx.Batch(r.TaskName, r.ExecuteDate)
		if err != nil {
			return err
		}
		if err := endPlan(tx, &b, &r, planned); err != nil {
			return err
		}
		return tx.PutBatch(&b)
	})
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
