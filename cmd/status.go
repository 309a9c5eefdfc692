package cmd

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"runner/ledger"
)

func newStatusCmd(a *app) *cobra.Command {
	o := statusOptions{limit: 50}
	c := &cobra.Command{
		Use:   "status [TASK…]",
		Short: "Show batches: complete, open, and what needs a person",
		Long: `Show batches, newest dates first: whether they are complete, how many records
are open and for how long, when the next attempt is due, which runs work on
them and how long that will take, and what needs a person, with the command
for it. A batch whose plan was cut off is never complete.

The newest --limit batches are shown, and all older ones that are not complete;
what is left out is said on stderr, with the cursor to go on from. Dates that a
task should have run on by its schedule, and never did, are missing; runner gaps
lists them all. An open record counts as old as its batch. Rate and time left
are those of the last attempts of live runs. No ledger is an empty list.

EXIT STATUS
  0 printed, whatever it shows; 2 usage is wrong, 7 the ledger can't be used.`,
		Example: `  runner status
  runner status grant-coupon --date 2026-11-01..2026-11-11 -o json`,
		RunE: func(c *cobra.Command, args []string) error { return runStatus(c.Context(), a, c, o, args) },
	}
	o.addFlags(c)
	return c
}

type statusOptions struct {
	date, after string
	limit       int
}

func (o *statusOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.date, "date", "", "of this execute `DATE`: today, yesterday, -3d, 2026-11-28, 2026-11 or A..B")
	f.IntVar(&o.limit, "limit", o.limit, "the newest `N` of them, and older ones that are not complete; 0: all")
	f.StringVar(&o.after, "after", "", "go on after this `CURSOR`")
}

func runStatus(ctx context.Context, a *app, c *cobra.Command, o statusOptions, names []string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	cursor, err := o.check(c)
	if err != nil {
		return err
	}
	from, to, err := dateSpan(a, c, where, o.date)
	if err != nil {
		return err
	}
	led, err := a.openListed(ctx, where)
	if err != nil {
		return err
	}
	if led == nil {
		return errors.Join(list(a.p, statusColumns(where.zone, true), all[statusJSON](nil)), a.warnUnknown(ctx, where, nil, names...))
	}
	defer led.Close() // it was only read
	batches, err := led.Batches(ctx, "", from, to)
	if err != nil {
		return causeOf(ctx, err)
	}
	view := &statusView{a: a, where: where, led: led, runsDir: runsDirOf(led)}
	missed, notes, err := o.missed(ctx, view, names, from, to)
	if err != nil {
		return causeOf(ctx, err)
	}
	batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool {
		return len(names) > 0 && !slices.Contains(names, b.TaskName) || cursor.passed(b)
	})
	shown, hidden, next := o.cut(batches)
	if err := view.watch(ctx); err != nil {
		return causeOf(ctx, err)
	}
	if err := a.printStatus(where, withMissed(view.rows(ctx, shown), missed)); err != nil {
		return causeOf(ctx, err)
	}
	for _, n := range notes {
		a.p.note("%s", n)
	}
	a.sayHidden(hidden, next, len(shown)+len(missed) == 0)
	return a.warnUnknown(ctx, where, led, names...)
}

// sayHidden says what a listing of batches leaves out.
func (a *app) sayHidden(hidden int, next string, empty bool) {
	switch {
	case hidden > 0:
		a.p.note("batches not shown: %d; go on with --after %s, or --limit 0 for all", hidden, next)
	case empty && a.p.form.forPeople():
		a.p.note("no batches match")
	}
}

// batchCursor is the last batch of a page.
type batchCursor struct{ date, task string }

func (o *statusOptions) check(c *cobra.Command) (cur batchCursor, err error) {
	if o.limit < 0 {
		return cur, usagef("--limit %d is negative", o.limit)
	}
	if !c.Flags().Changed("after") {
		return cur, nil
	}
	var ok bool
	cur.date, cur.task, ok = strings.Cut(o.after, "/")
	if !ok || ledger.CheckDate(cur.date) != nil {
		return cur, withHint(usagef("--after %q is no cursor", o.after), "take the one that the previous page printed")
	}
	return cur, nil
}

// passed tells whether a batch stands on an earlier page.
func (c batchCursor) passed(b ledger.Batch) bool {
	return c.date != "" && (b.ExecuteDate > c.date || b.ExecuteDate == c.date && b.TaskName <= c.task)
}

// cut takes the newest batches. On the first page the older ones that are not
// complete are added, so that nobody overlooks them.
func (o *statusOptions) cut(batches []ledger.Batch) (shown []ledger.Batch, hidden int, next string) {
	if o.limit == 0 || len(batches) <= o.limit {
		return batches, 0, ""
	}
	last := batches[o.limit-1]
	shown = slices.Clone(batches[:o.limit])
	for _, b := range batches[o.limit:] {
		if o.after == "" && !b.Complete() {
			shown = append(shown, b)
		} else {
			hidden++
		}
	}
	return shown, hidden, last.ExecuteDate + "/" + last.TaskName
}

// dateSpan reads a --date that may be a range; empty if it isn't given.
func dateSpan(a *app, c *cobra.Command, where located, text string) (from, to string, err error) {
	if !c.Flags().Changed("date") {
		return "", "", nil
	}
	first, last, err := parseSpan(text, a.now(), where.zone)
	if err != nil {
		return "", "", err
	}
	if first.daysTo(last) < 0 {
		return "", "", withHint(usagef("date %q ends before it begins", text), "write the earlier date first: %s..%s", last, first)
	}
	return first.String(), last.String(), nil
}

// printStatus prints a row a batch, and for people below the table what is
// too long for it.
func (a *app) printStatus(where located, rows iter.Seq2[statusJSON, error]) error {
	if a.p.form != formTable {
		return list(a.p, statusColumns(where.zone, true), rows)
	}
	var below []string
	err := list(a.p, statusColumns(where.zone, false), func(yield func(statusJSON, error) bool) {
		for r, err := range rows {
			if below = append(below, r.below(where.zone)...); !yield(r, err) {
				return
			}
		}
	})
	if err != nil || len(below) == 0 {
		return err
	}
	a.p.blank()
	for _, l := range below {
		if err := a.p.say("%s", l); err != nil {
			return err
		}
	}
	return nil
}

// runsDirOf is where the run files of a ledger lie.
func runsDirOf(led *ledger.Ledger) string {
	if s, ok := led.Store().(interface{ RunsDir() string }); ok {
		return s.RunsDir()
	}
	return ""
}
