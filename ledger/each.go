package ledger

import (
	"context"
	"iter"
)

// Each gives what a query finds in the order of its numbers. It reads q.Limit
// records at a time, so that others write in between, and ends with an error.
func (l *Ledger) Each(ctx context.Context, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for page, err := range l.pages(ctx, q) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// pages is Each, as it is read.
func (l *Ledger) pages(ctx context.Context, q Query) iter.Seq2[[]Entry, error] {
	q.Ascending = true
	return func(yield func([]Entry, error) bool) {
		for {
			var page []Entry
			err := l.store.View(ctx, func(r Reader) (err error) {
				page, err = r.List(q)
				return err
			})
			if err != nil {
				yield(nil, err)
				return
			}
			if len(page) == 0 {
				return
			}
			q.After = page[len(page)-1].ID // now: who gets the page may change it
			if !yield(page, nil) {
				return
			}
		}
	}
}
