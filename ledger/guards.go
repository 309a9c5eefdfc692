package ledger

import "context"

// The guards of sql tasks lie in business databases, one for each effect. A
// sealed batch executes nothing, so those of its records can be removed. The
// ledger remembers of such a batch that this has begun, and that it was done,
// until the seal is taken off: a batch that was restored, and may have been done
// again, is sealed by another one.

// metaGuards is where the ledger keeps what became of the guards of a batch: the
// checksum of its seal, with a word before it as long as some may be left.
func metaGuards(b Batch) string { return "guards_removed " + b.TaskName + " " + b.ExecuteDate }

const guardsBegun = "begun "

// GuardsLeft tells whether a batch is sealed, and its guards weren't removed
// since.
func (l *Ledger) GuardsLeft(ctx context.Context, b Batch) (left bool, err error) {
	now, what, err := l.guards(ctx, b)
	return now.Sealed() && what != now.SealedSum, err
}

// GuardsTouched tells whether a batch is sealed, and some of its guards may have
// been removed since.
func (l *Ledger) GuardsTouched(ctx context.Context, b Batch) (touched bool, err error) {
	now, what, err := l.guards(ctx, b)
	return now.Sealed() && (what == now.SealedSum || what == guardsBegun+now.SealedSum), err
}

func (l *Ledger) guards(ctx context.Context, b Batch) (now Batch, what string, err error) {
	err = l.store.View(ctx, func(r Reader) error {
		if now, err = r.Batch(b.TaskName, b.ExecuteDate); err == nil {
			what, err = r.Meta(metaGuards(b))
		}
		return err
	})
	return now, what, err
}

// GuardsBegun remembers that from now on guards of a sealed batch may be missing
// or not. It fails with ErrMoved if the seal is another one by now.
func (l *Ledger) GuardsBegun(ctx context.Context, b Batch) error {
	return l.putGuards(ctx, b, guardsBegun+b.SealedSum)
}

// GuardsRemoved remembers that there are no guards of a sealed batch any more.
// It fails with ErrMoved if the seal is another one by now.
func (l *Ledger) GuardsRemoved(ctx context.Context, b Batch) error {
	return l.putGuards(ctx, b, b.SealedSum)
}

func (l *Ledger) putGuards(ctx context.Context, b Batch, what string) error {
	return l.store.Update(ctx, func(tx Tx) error {
		if err := sealedAs(tx, b); err != nil {
			return err
		}
		return tx.PutMeta(metaGuards(b), what)
	})
}
