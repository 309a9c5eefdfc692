package ledger

import (
	"cmp"
	"context"
	"slices"
)

// Longest gives at most n records of some batches whose newest attempt took
// longest, the longest first. No index leads to them: at most budget records,
// of each batch the newest, are looked at, and looked says how many. The
// batches come first that stand first.
func (l *Ledger) Longest(ctx context.Context, batches []Batch, n int, budget int64) (list []Entry, looked int64, err error) {
	for _, b := range batches {
		if b.FirstID == 0 {
			continue
		}
		q := Query{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate, Longest: true, Limit: n}
		span := b.LastID - b.FirstID + 1
		if rest := budget - looked; rest <= 0 {
			break
		} else if span > rest {
			span = rest
			q.After = b.LastID - rest
		}
		looked += span
		err = l.store.View(ctx, func(r Reader) error {
			found, err := r.List(q)
			list = append(list, found...)
			return err
		})
		if err != nil {
			return nil, looked, err
		}
		slices.SortStableFunc(list, func(a, b Entry) int {
			return cmp.Compare(b.EndedAt.Sub(b.StartedAt), a.EndedAt.Sub(a.StartedAt))
		})
		list = list[:min(n, len(list))]
	}
	return list, looked, nil
}
