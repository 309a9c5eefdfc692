package ledger

import "context"

// The guards of sql tasks lie in business databases, one for each effect. A
// sealed batch executes nothing, so those of its records can be removed. The
// ledger remembers for which seal that was done: a batch that was restored, and
// may have been done again, is sealed by another one.

// metaGuards is where the ledger keeps the checksum of the seal under which the
// guards of a batch were removed.
func metaGuards(b Batch) string { return "guards_removed " + b.TaskName + " " + b.ExecuteDate }

// GuardsLeft tells whether a batch is sealed, and its guards weren't removed
// since.
func (l *Ledger) GuardsLeft(ctx context.Context, b Batch) (left bool, err error) {
	err = l.store.View(ctx, func(r Reader) error {
		now, err := r.Batch(b.TaskName, b.ExecuteDate)
		if err != nil || !now.Sealed() {
			left = false
			return err
		}
		sum, err := r.Meta(metaGuards(b))
		left = sum != now.SealedSum
		return err
	})
	return left, err
}

// GuardsRemoved remembers that there are no guards of a sealed batch any more.
// It fails with ErrMoved if the seal is another one by now.
func (l *Ledger) GuardsRemoved(ctx context.Context, b Batch) error {
	return l.store.Update(ctx, func(tx Tx) error {
		now, err := tx.Batch(b.TaskName, b.ExecuteDate)
		if err != nil {
			return err
		}
		if !now.Sealed() || now.SealedSum != b.SealedSum {
			return ErrMoved
		}
		return tx.PutMeta(metaGuards(b), b.SealedSum)
	})
}
