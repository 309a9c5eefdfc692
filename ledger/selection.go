package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Selection is the records of one batch that an operator picks.
type Selection struct {
	TaskName    string
	ExecuteDate string
	Statuses    []Status
	BizIDs      []string // empty: all with these statuses
	ErrorLike   string   // part of the error, as it is written; empty: any error, or none
	Limit       int      // 0: no limit
	// Generation is that of the done records to pick; 0 is 1. Records that are
	// pending in the next one are picked with them: their rerun was cut off.
	Generation int
}

// UnknownIDsError lists biz_ids that a batch doesn't hold.
type UnknownIDsError struct {
	Selection Selection
	IDs       []string
}

func (e *UnknownIDsError) Error() string {
	shown := e.IDs
	if len(shown) > 10 {
		shown = append(slices.Clone(shown[:10]), fmt.Sprintf("… and %d more", len(e.IDs)-10))
	}
	return fmt.Sprintf("%s has no record on %s with biz_id %s", e.Selection.TaskName, e.Selection.ExecuteDate, strings.Join(shown, ", "))
}

// selectChunk is how many biz_ids, or records, are looked up at once.
const selectChunk = 1000

// Select calls fn with the picked records in the order of their numbers. It
// fails with *UnknownIDsError before the first call of fn, with ErrNotFound if
// biz_ids are named and there is no such batch, and with *SealedError.
func (l *Ledger) Select(ctx context.Context, s Selection, fn func([]Entry) error) error {
	if err := l.unsealed(ctx, s); err != nil {
		return err
	}
	pages := l.pages(ctx, Query{TaskName: s.TaskName, ExecuteDate: s.ExecuteDate, Statuses: s.stored(), Limit: selectChunk})
	if len(s.BizIDs) > 0 {
		ids, err := l.numbersOf(ctx, s)
		if err != nil {
			return err
		}
		pages = l.byNumber(ctx, ids)
	}
	left := s.Limit
	for page, err := range pages {
		if err != nil {
			return err
		}
		page = s.pick(page)
		if s.Limit > 0 {
			page = page[:min(len(page), left)]
			left -= len(page)
		}
		if len(page) > 0 {
			if err := fn(page); err != nil {
				return err
			}
		}
		if s.Limit > 0 && left == 0 {
			return nil
		}
	}
	return nil
}

// byNumber gives the records with these numbers that there are, in pages.
func (l *Ledger) byNumber(ctx context.Context, ids []int64) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		for chunk := range slices.Chunk(ids, selectChunk) {
			var page []Entry
			err := l.store.View(ctx, func(r Reader) (err error) {
				page, err = r.Get(chunk)
				return err
			})
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// unsealed fails with *SealedError if the records are archived.
func (l *Ledger) unsealed(ctx context.Context, s Selection) error {
	return l.store.View(ctx, func(r Reader) error {
		b, err := r.Batch(s.TaskName, s.ExecuteDate)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return b.open()
	})
}

// numbersOf gives the numbers of the records named, each once and in order.
func (l *Ledger) numbersOf(ctx context.Context, s Selection) (ids []int64, err error) {
	var unknown []string
	err = l.store.View(ctx, func(r Reader) error {
		ids, unknown = nil, nil // the store may call this again
		b, err := r.Batch(s.TaskName, s.ExecuteDate)
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(s.BizIDs, selectChunk) {
			in := make([]Input, len(chunk))
			for i, id := range chunk {
				in[i].BizID = id
			}
			known, err := r.Find(b.ID, in)
			if err != nil {
				return err
			}
			for i, k := range known {
				if k.ID == 0 {
					unknown = append(unknown, chunk[i])
					continue
				}
				ids = append(ids, k.ID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		return nil, &UnknownIDsError{s, unknown}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// stored is the statuses to look for: with done also pending, for those whose
// rerun was cut off.
func (s Selection) stored() []Status {
	if slices.Contains(s.Statuses, Done) && !slices.Contains(s.Statuses, Pending) {
		return append(slices.Clone(s.Statuses), Pending)
	}
	return s.Statuses
}

func (s Selection) pick(page []Entry) []Entry {
	generation := max(s.Generation, 1)
	return slices.DeleteFunc(page, func(e Entry) bool {
		if s.ErrorLike != "" && !strings.Contains(e.Error, s.ErrorLike) {
			return true
		}
		if e.Status == Running { // named by its biz_id: the rules refuse it
			return len(s.BizIDs) == 0 && !slices.Contains(s.Statuses, Running)
		}
		if slices.Contains(s.Statuses, Done) {
			if e.Status == Done {
				return e.Generation != generation
			}
			if e.Status == Pending && !slices.Contains(s.Statuses, Pending) {
				return e.Generation != generation+1
			}
		}
		return !slices.Contains(s.Statuses, e.Status)
	})
}

// Rerun makes records runnable again: those that the rules allow, by number.
// It returns what was refused because the record has gone on meanwhile.
func (l *Ledger) Rerun(ctx context.Context, ids []int64, d Decision, p Policy) (refused []error, err error) {
	return l.decide(ctx, ids, d, func(e Entry, _ time.Time) (Entry, error) { return Rerun(e, d, p) })
}

// decide applies a decision to records, by number, and adds it to their
// stories. A record that the rule refuses is left as it is.
func (l *Ledger) decide(ctx context.Context, ids []int64, d Decision, rule func(Entry, time.Time) (Entry, error)) (refused []error, err error) {
	for chunk := range slices.Chunk(ids, recoverChunk) {
		var no []error
		err := l.store.Update(ctx, func(tx Tx) error {
			no = nil // the store may call this again after a failed try
			entries, err := tx.Get(chunk)
			if err == nil && len(entries) < len(chunk) {
				err = ErrSealed // they were there when they were chosen
			}
			var batches []Batch
			if err == nil {
				batches, err = openBatches(tx, entries)
			}
			if err != nil {
				return err
			}
			now := l.Now()
			var changes []Change
			var lines []Attempt
			for _, e := range entries {
				n, err := rule(e, now)
				if err != nil {
					no = append(no, err)
					continue
				}
				changes = append(changes, Change{e, n})
				lines = append(lines, decided(e, n, d, now)...)
			}
			if err := tx.Swap(changes); err != nil {
				return err
			}
			if err := tx.AddAttempts(lines); err != nil {
				return err
			}
			return keepOpen(tx, batches)
		})
		if err != nil {
			return refused, err
		}
		refused = append(refused, no...)
	}
	return refused, nil
}
