package cmd

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"runner/ledger"
)

func newLedgerLsCmd(a *app) *cobra.Command {
	var o lsOptions
	c := &cobra.Command{
		Use:   "ls",
		Short: "List records, newest first",
		Long: `List records, newest first. What is cut off by --limit is said on stderr,
with the cursor to go on from. Records of sealed batches are in archives, which
is said too. No ledger is an empty list.

EXIT STATUS
  0 printed, 2 usage is wrong, 7 the ledger can't be used.`,
		Example: `  runner ledger ls --task grant-coupon --date yesterday --status failed,in_doubt
  runner ledger ls --biz-id 'u-10*' --limit 0 -o csv > records.csv`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return runLs(c.Context(), a, c, o) },
	}
	o.addFlags(c)
	return c
}

type lsOptions struct {
	task, date, run, since string
	status, bizID          []string
	pageFlags
}

func (o *lsOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.task, "task", "", "of this `TASK`")
	f.StringVar(&o.date, "date", "", "of this execute `DATE` ("+dateForms[len("use "):]+")")
	f.StringSliceVar(&o.status, "status", nil, "in one of these `STATUSES`, separated by commas: "+statusWords())
	f.StringArrayVar(&o.bizID, "biz-id", nil, "with this `ID` (repeatable), or beginning with it: 'u-10*'")
	f.StringVar(&o.run, "run", "", "claimed last by this `RUN`")
	f.StringVar(&o.since, "since", "", "started or ended since `WHEN`: 90m, 7d, 2026-11-28, 2026-11-28T14:00:00+08:00")
	o.add(c)
}

func statusWords() string {
	words := make([]string, len(ledger.Statuses))
	for i, s := range ledger.Statuses {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}

func runLs(ctx context.Context, a *app, c *cobra.Command, o lsOptions) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	q, err := o.query(a, c, where)
	if err != nil {
		return err
	}
	led, err := a.openListed(ctx, where)
	if err != nil {
		return err
	}
	if led == nil {
		return errors.Join(list(a.p, recordColumns(where.zone), all[recordJSON](nil)), a.warnUnknown(ctx, where, nil, o.task))
	}
	defer led.Close() // it was only read
	records := &listing[recordJSON]{what: "records", size: lsPage, limit: o.limit, before: q.Before}
	records.page = func(ctx context.Context, before int64, n int) (page []listed[recordJSON], err error) {
		q := q
		q.Before, q.Limit = before, n
		err = led.Store().View(ctx, func(r ledger.Reader) error {
			list, err := r.List(q)
			for _, e := range list {
				page = append(page, listed[recordJSON]{cursor: e.ID, row: newRecord(e, where.namespace())})
			}
			return err
		})
		return page, err
	}
	if err := records.print(ctx, a.p, recordColumns(where.zone)); err != nil || records.cut {
		return err
	}
	if records.shown == 0 {
		if err := a.warnUnknown(ctx, where, led, o.task); err != nil {
			return err
		}
	}
	return causeOf(ctx, a.saySealed(ctx, led, q.TaskName, q.ExecuteDate))
}

const lsPage = 1000

// query checks the flags and makes of them what a store understands.
func (o lsOptions) query(a *app, c *cobra.Command, where located) (q ledger.Query, err error) {
	q = ledger.Query{TaskName: o.task, RunID: o.run}
	for _, name := range []string{"task", "run", "since"} {
		if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return q, usagef("--%s is empty", name)
		}
	}
	if c.Flags().Changed("date") {
		if q.ExecuteDate, err = parseDate(o.date, a.now(), where.zone); err != nil {
			return q, err
		}
	}
	for _, s := range o.status {
		st, err := ledger.ParseStatus(s)
		if err != nil {
			return q, asUsage(err)
		}
		q.Statuses = append(q.Statuses, st)
	}
	if q.BizIDs, q.BizPrefix, err = bizIDs(o.bizID); err != nil {
		return q, err
	}
	if o.since != "" {
		if q.Since, err = parseSince(o.since, a.now(), where.zone); err != nil {
			return q, err
		}
	}
	q.Before, err = o.before(c)
	return q, err
}

// bizIDs splits --biz-id into exact ids and a prefix.
func bizIDs(values []string) (ids []string, prefix string, err error) {
	for _, v := range values {
		p, isPrefix := strings.CutSuffix(v, "*")
		switch {
		case v == "":
			return nil, "", usagef("--biz-id is empty")
		case isPrefix && len(values) > 1:
			return nil, "", usagef("--biz-id %q: only one can be given together with a *", v)
		case isPrefix:
			prefix = p
		default:
			ids = append(ids, v)
		}
	}
	return ids, prefix, nil
}

// parseSince reads a point in time: a duration before now, a date in the
// zone, or an instant.
func parseSince(text string, now time.Time, loc *time.Location) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 1e6 {
			return now.In(loc).AddDate(0, 0, -n), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if d, err := parseDay(text, now, loc, ""); err == nil {
		y, m, day := d.t.Date()
		return time.Date(y, m, day, 0, 0, 0, 0, loc), nil
	}
	return time.Time{}, withHint(usagef("--since %q is not understood", text), "use 90m, 7d, 2026-11-28 or 2026-11-28T14:00:00+08:00")
}

func recordColumns(loc *time.Location) []column[recordJSON] {
	return []column[recordJSON]{
		{name: "TASK", cell: func(r recordJSON) string { return r.TaskName }, wide: true},
		{name: "BIZ_ID", cell: func(r recordJSON) string { return r.BizID }, wide: true, id: true},
		{name: "DATE", cell: func(r recordJSON) string { return r.ExecuteDate }},
		{name: "STATUS", cell: func(r recordJSON) string { return r.Status.String() },
			tint: func(r recordJSON, p palette) *color.Color { return p.status(r.Status) }},
		{name: "DETAIL", cell: func(r recordJSON) string { return r.Detail }, spare: 2},
		{name: "ATTEMPTS", cell: func(r recordJSON) string { return strconv.Itoa(r.Attempts) }, spare: 3},
		{name: "UPDATED", cell: func(r recordJSON) string { return r.updated().in(loc) }, spare: 1},
		{name: "NEXT", cell: func(r recordJSON) string { return r.next().in(loc) }, spare: 4},
		{name: "ERROR", cell: func(r recordJSON) string { return r.Error }, wide: true},
	}
}

// updated is when its newest attempt ended, or started if it is under way.
func (r recordJSON) updated() stamp {
	if r.EndedAt.Before(r.StartedAt.Time) {
		return r.StartedAt
	}
	return r.EndedAt
}

// next is when a waiting record is tried again.
func (r recordJSON) next() stamp {
	if r.Status != ledger.Pending {
		return stamp{}
	}
	return r.NotBefore
}
