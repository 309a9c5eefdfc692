package cmd

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"
)

// listing is a list of what the ledger holds, newest first. It is read in
// pages, each in a snapshot of its own, so that a long one neither fills memory
// nor holds up checkpoints.
type listing[T any] struct {
	what   string // plural
	size   int    // of a page
	limit  int    // of all; 0: none
	before int64  // the cursor
	// page reads at most n items below a cursor.
	page func(ctx context.Context, before int64, n int) ([]listed[T], error)

	shown int
	last  int64 // the cursor of what was shown last
	cut   bool  // there is more
}

// listed is an item of a listing.
type listed[T any] struct {
	cursor int64
	hidden bool // it isn't of those that were asked for
	row    T
}

func (l *listing[T]) rows(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for ctx.Err() == nil {
			n := l.size
			if l.limit > 0 { // one more, to know whether there is more
				n = min(n, l.limit-l.shown+1)
			}
			page, err := l.page(ctx, l.before, n)
			for _, it := range page {
				l.before = it.cursor
				if it.hidden {
					continue
				}
				if l.cut = l.limit > 0 && l.shown == l.limit; l.cut || !yield(it.row, nil) {
					return
				}
				l.shown, l.last = l.shown+1, it.cursor
			}
			if err == nil && len(page) == n {
				continue
			}
			if err != nil {
				yield(*new(T), err)
			}
			return
		}
		yield(*new(T), context.Cause(ctx))
	}
}

// print prints a listing, and says what it has left out.
func (l *listing[T]) print(ctx context.Context, p *printer, columns []column[T]) error {
	if err := list(p, columns, l.rows(ctx)); err != nil {
		return causeOf(ctx, err)
	}
	switch {
	case l.cut:
		first := fmt.Sprintf("the first %d are shown", l.shown)
		if l.shown == 1 {
			first = "only the first is shown"
		}
		p.note("%s; go on with --after %d, or --limit 0 for all", first, l.last)
	case l.shown == 0 && p.form.forPeople():
		p.note("no %s match", l.what)
	}
	return nil
}

// pageFlags say which part of a listing to show.
type pageFlags struct {
	limit int
	after string
}

func (o *pageFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&o.limit, "limit", 50, "at most `N` of them; 0: all")
	c.Flags().StringVar(&o.after, "after", "", "go on after this `CURSOR`")
}

// before is the cursor that --after names; 0 if none.
func (o *pageFlags) before(c *cobra.Command) (n int64, err error) {
	if o.limit < 0 {
		return 0, usagef("--limit %d is negative", o.limit)
	}
	if !c.Flags().Changed("after") {
		return 0, nil
	}
	if n, err = strconv.ParseInt(o.after, 10, 64); err != nil || n < 1 {
		return 0, withHint(usagef("--after %q is no cursor", o.after), "take the one that the previous page printed")
	}
	return n, nil
}
