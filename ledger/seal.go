package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A batch whose records are archived is sealed. Its row stays, with its
// counts, so it is as complete as it was; but nothing of it is planned,
// claimed or decided about before it is restored.
//
//	complete ─▶ archive file written ─▶ sealed ─▶ records forgotten, chunk by chunk
//	complete ◀─ unsealed ◀─ all recalled, chunk by chunk ◀─┘
//
// The seal names the file and its checksum. It is set only if nothing of the
// batch has changed since the file was written, and taken off only when all
// records are back. A record is removed only of a sealed batch.

// SealedError says that a batch is sealed.
type SealedError struct{ Batch Batch }

func (e *SealedError) Error() string {
	return fmt.Sprintf("%s %s is sealed: its records were archived on %s", e.Batch.TaskName, e.Batch.ExecuteDate, e.Batch.SealedAt.Format(time.DateOnly))
}

// Is makes it an ErrSealed.
func (e *SealedError) Is(target error) bool { return target == ErrSealed }

// Sealed tells whether the records of a batch are archived.
func (b Batch) Sealed() bool { return !b.SealedAt.IsZero() }

// open fails with *SealedError for a sealed batch.
func (b Batch) open() error {
	if b.Sealed() {
		return &SealedError{b}
	}
	return nil
}

// Stamp is what changes when anything of a complete batch changes: to change a
// record that is done or skipped takes a run, or leaves it open.
type Stamp struct {
	Counts Counts
	RunNo  int64 // of the newest run of the batch
}

// keeps gives why a batch can't be archived now; empty if it can.
func (b Batch) keeps(openRuns int) string {
	switch {
	case b.Sealed():
		return "it is sealed already"
	case openRuns > 0:
		return "a run works on it, or left something behind"
	case len(b.Planning()) > 0:
		return "its plan was cut off"
	case b.Unplanned() != "":
		return "nobody has planned shard " + b.Unplanned()
	case !b.Complete():
		return "it is not complete"
	}
	return ""
}

// Archivable says why a batch can't be archived now, with an empty word if it
// can, and gives its stamp.
func (l *Ledger) Archivable(ctx context.Context, task, date string) (b Batch, s Stamp, why string, err error) {
	err = l.store.View(ctx, func(r Reader) (err error) {
		b, s, why, err = archivable(r, task, date)
		return err
	})
	return b, s, why, err
}

func archivable(r Reader, task, date string) (b Batch, s Stamp, why string, err error) {
	if b, err = r.Batch(task, date); err != nil {
		return b, s, "", err
	}
	live, err := r.Runs(RunQuery{TaskName: task, ExecuteDate: date, OpenOnly: true, Limit: 1})
	if err != nil {
		return b, s, "", err
	}
	last, err := r.Runs(RunQuery{TaskName: task, ExecuteDate: date, Limit: 1})
	if len(last) > 0 {
		s.RunNo = last[0].No
	}
	s.Counts = b.Counts
	return b, s, b.keeps(len(live)), err
}

// ErrMoved says that a batch has changed since its archive file was written.
var ErrMoved = errors.New("it has changed meanwhile")

// Seal makes an archive file the place of a batch's records. It fails with
// ErrMoved if the file may not hold them as they are.
func (l *Ledger) Seal(ctx context.Context, task, date string, s Stamp, file, sum string) (b Batch, err error) {
	err = l.store.Update(ctx, func(tx Tx) error {
		now, stamp, why, err := archivable(tx, task, date)
		if err != nil {
			return err
		}
		if why != "" || stamp != s {
			return ErrMoved
		}
		now.SealedAt, now.SealedIn, now.SealedSum = l.Now(), file, sum
		b = now
		return tx.PutBatch(&b)
	})
	return b, err
}

// StillSealed fails with ErrMoved unless a batch is sealed as it was when it was
// read.
func (l *Ledger) StillSealed(ctx context.Context, b Batch) error {
	return l.store.View(ctx, func(r Reader) error { return sealedAs(r, b) })
}

func sealedAs(r Reader, b Batch) error {
	now, err := r.Batch(b.TaskName, b.ExecuteDate)
	if err == nil && (!now.Sealed() || now.SealedSum != b.SealedSum) {
		err = ErrMoved
	}
	return err
}

// MayForget fails if records can't be removed for lack of rights: a batch is
// better not sealed then.
func (l *Ledger) MayForget(ctx context.Context) error {
	if r, ok := l.store.(Remover); ok {
		return r.MayForget(ctx)
	}
	return nil
}

// Forget removes records of a sealed batch above a number, at most limit, and
// gives the highest it removed; 0 when none was left.
func (l *Ledger) Forget(ctx context.Context, b Batch, after int64, limit int) (last int64, err error) {
	err = l.store.Update(ctx, func(tx Tx) error {
		now, err := tx.Batch(b.TaskName, b.ExecuteDate)
		if err != nil {
			return err
		}
		if !now.Sealed() {
			return ErrMoved
		}
		last, err = tx.Forget(now.ID, after, limit)
		return err
	})
	return last, err
}

// Recall puts records of a sealed batch back, with their stories.
func (l *Ledger) Recall(ctx context.Context, b Batch, records []Entry, stories []Attempt) error {
	return l.store.Update(ctx, func(tx Tx) error {
		now, err := tx.Batch(b.TaskName, b.ExecuteDate)
		if err != nil {
			return err
		}
		if !now.Sealed() {
			return ErrMoved
		}
		for i := range records {
			records[i].BatchID = now.ID
		}
		if err := tx.Recall(records); err != nil {
			return err
		}
		return tx.AddAttempts(stories)
	})
}

// Unseal makes a batch whose records are all back what it was before.
func (l *Ledger) Unseal(ctx context.Context, b Batch) error {
	return l.store.Update(ctx, func(tx Tx) error {
		now, err := tx.Batch(b.TaskName, b.ExecuteDate)
		if err != nil || !now.Sealed() {
			return err
		}
		now.SealedAt, now.SealedIn, now.SealedSum = time.Time{}, "", ""
		if err := tx.PutMeta(metaGuards(now), ""); err != nil {
			return err
		}
		return tx.PutBatch(&now)
	})
}

// openBatches gives the batches of records. It fails with *SealedError if one
// of them is archived.
func openBatches(tx Tx, records []Entry) (list []Batch, err error) {
	seen := map[int64]bool{}
	for _, e := range records {
		if seen[e.BatchID] {
			continue
		}
		seen[e.BatchID] = true
		b, err := tx.Batch(e.TaskName, e.ExecuteDate)
		if err == nil {
			err = b.open()
		}
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// keepOpen keeps batches, as they were read, from being sealed during the
// transaction. It comes after the records were changed: nobody waits for a
// record while he holds its batch.
func keepOpen(tx Tx, batches []Batch) error {
	for i := range batches {
		if err := tx.PutBatch(&batches[i]); err != nil {
			return err
		}
	}
	return nil
}
