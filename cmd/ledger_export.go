package cmd

import (
	"context"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/ledger/archive"
)

func newLedgerExportCmd(a *app) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export",
		Short: "Write records as CSV or JSON lines, also those of archives",
		Long: `Write records to stdout, batch by batch, the newest date first, and within a
batch in the order of planning: as CSV, or with -o jsonl or json as JSON. Records
of sealed batches come from their archives. Memory stays flat, and runs go on
meanwhile. No ledger is an empty list.

EXIT STATUS
  0 written; 2 usage is wrong, 7 the ledger or an archive of it can't be used,
  and what was written until then is not all, 129, 130, 143 interrupted.`,
		Example: `  runner ledger export --task grant-coupon --date 2026-11 >november.csv
  runner ledger export --status failed,in_doubt -o jsonl | jq .error`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return runExport(c.Context(), a, c, o) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.task, "task", "", "of this `TASK`")
	f.StringVar(&o.date, "date", "", "of this execute `DATE`: today, yesterday, -3d, 2026-11-28, 2026-11 or A..B")
	f.StringSliceVar(&o.status, "status", nil, "in one of these `STATUSES`, separated by commas: "+statusWords())
	return c
}

type exportOptions struct {
	task, date string
	status     []string
}

func runExport(ctx context.Context, a *app, c *cobra.Command, o exportOptions) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	if c.Flags().Changed("task") && o.task == "" {
		return usagef("--task is empty")
	}
	from, to, err := dateSpan(a, c, where, o.date)
	if err != nil {
		return err
	}
	statuses, err := parseStatuses(o.status)
	if err != nil {
		return err
	}
	if a.p.form.forPeople() { // it is for programs
		a.p.form = formCSV
	}
	led, err := a.openListed(ctx, where)
	if err != nil {
		return err
	}
	if led == nil {
		return list(a.p, recordColumns(where.zone), all[recordJSON](nil))
	}
	defer led.Close() // it was only read
	batches, err := led.Batches(ctx, o.task, from, to)
	if err != nil {
		return causeOf(ctx, err)
	}
	x := exporter{where: where, led: led, statuses: statuses, namespace: where.namespace()}
	if x.dir, err = a.folder(where, ""); err != nil {
		return err
	}
	return causeOf(ctx, list(a.p, recordColumns(where.zone), x.rows(ctx, batches)))
}

type exporter struct {
	where     located
	led       *ledger.Ledger
	dir       *archive.Folder
	statuses  []ledger.Status // none: all
	namespace string
}

func (x exporter) rows(ctx context.Context, batches []ledger.Batch) iter.Seq2[recordJSON, error] {
	return func(yield func(recordJSON, error) bool) {
		for _, b := range batches {
			for e, err := range x.batch(ctx, b) {
				if err != nil {
					yield(recordJSON{}, err)
					return
				}
				if !yield(newRecord(e, x.namespace), nil) {
					return
				}
			}
		}
	}
}

// batch gives the records of a batch, from its archive as soon as it is
// sealed: from then on the ledger has holes where the next ones were.
func (x exporter) batch(ctx context.Context, b ledger.Batch) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		q := ledger.Query{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate, Statuses: x.statuses, Ascending: true, Limit: lsPage}
		for {
			var page []ledger.Entry
			err := x.led.Store().View(ctx, func(r ledger.Reader) (err error) {
				if b, err = r.Batch(b.TaskName, b.ExecuteDate); err == nil && !b.Sealed() {
					page, err = r.List(q)
				}
				return err
			})
			if err != nil {
				yield(ledger.Entry{}, err)
				return
			}
			if b.Sealed() {
				x.archived(ctx, b, q.After)(yield)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < lsPage {
				return
			}
			q.After = page[len(page)-1].ID
		}
	}
}

// archived gives the records of a sealed batch above a number.
func (x exporter) archived(ctx context.Context, b ledger.Batch, after int64) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		f, err := x.dir.Open(x.led, b)
		if err != nil {
			yield(ledger.Entry{}, x.where.lostArchive(b, err))
			return
		}
		defer f.Close()
		for it, err := range f.Items() {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && (it.Entry.ID <= after || len(x.statuses) > 0 && !slices.Contains(x.statuses, it.Entry.Status)) {
				continue
			}
			if !yield(it.Entry, x.where.lostArchive(b, err)) || err != nil {
				return
			}
		}
	}
}
