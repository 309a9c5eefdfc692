package cmd

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"runner/ledger"
)

func newLedgerRestoreCmd(a *app) *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore TASK",
		Short: "Bring an archived batch back into the ledger, exactly as it was",
		Long: `Bring the records of a sealed batch back into the ledger, with all attempts and
kept output, exactly as they were, and take off the seal. The file is compared
with the checksum in the ledger first, and stays where it is. A batch that isn't
sealed is left as it is.

If its guards were removed (runner ledger archive --guards), they are put back
first into the database of the task as runner.yaml names it: they tell what is
done from what isn't. Where that can't be, nothing is restored, unless
--without-guards is given: then what is tried of the batch and has no guard comes
in doubt.

It may be killed at any moment: the batch stays sealed until all of it is back.

EXIT STATUS
  0 the batch is in the ledger; 1 its guards can't be put back; 2 usage is wrong,
  there is no such batch, or --from can't be read or isn't the file it was
  archived in; 5 another archive or restore is at work, 7 the ledger or its own
  file of the batch can't be used, 129, 130, 143 interrupted.`,
		Example: `  runner ledger restore grant-coupon --date 2026-08-11
  runner ledger restore grant-coupon --date 2026-08-11 --from /mnt/archive/grant-coupon/2026-08-11.jsonl.zst`,
		Args: exactly("TASK"),
		RunE: func(c *cobra.Command, args []string) error { return runRestore(c.Context(), a, c, o, args[0]) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.date, "date", "", "execute `DATE` of the batch ("+dateForms[len("use "):]+")")
	f.StringVar(&o.from, "from", "", "the archive `FILE`, if it isn't where it was written to")
	f.BoolVar(&o.noGuards, "without-guards", false, "put none back that were removed")
	return c
}

type restoreOptions struct {
	date, from string
	noGuards   bool
}

// restoredJSON is a batch that is back. Its names are an interface.
type restoredJSON struct {
	TaskName    string     `json:"task_name"`
	ExecuteDate string     `json:"execute_date"`
	Result      string     `json:"result"` // restored, or not_sealed
	Counts      countsJSON `json:"counts"`
	File        string     `json:"file"`
}

func runRestore(ctx context.Context, a *app, c *cobra.Command, o restoreOptions, task string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	if !c.Flags().Changed("date") {
		return withHint(usagef("--date is missing"), "runner status lists the batches")
	}
	date, err := parseDate(o.date, a.now(), where.zone)
	if err != nil {
		return err
	}
	led, _, err := a.openWriter(ctx, where, false)
	if err != nil {
		return err
	}
	defer led.Close() // every transaction is durable already
	b, err := batchOf(ctx, led, task, date)
	if err == nil && b.ID == 0 {
		err = withHint(usagef("%s has no records on %s", task, date), "runner status lists the batches")
	}
	if err != nil {
		return causeOf(ctx, err)
	}
	r := restoredJSON{TaskName: task, ExecuteDate: date, Result: "not_sealed", Counts: newCounts(b.Counts)}
	if b.Sealed() {
		if r.File, err = a.restore(ctx, where, led, b, o); err != nil {
			if o.from == "" { // else it is the name that is wrong
				err = where.lostArchive(b, err)
			}
			err = causeOf(ctx, err)
			return withHint(err, "%s", cmp.Or(hintOf(err), "the batch is sealed as before; --from FILE names its archive"))
		}
		r.Result = "restored"
	}
	if a.p.form != formTable {
		return object(a.p, r, nil)
	}
	if a.p.quiet {
		return nil
	}
	if r.Result == "restored" {
		return a.p.say("%s %s: %s are back in the ledger", task, date, plural(b.Counts.Total(), "record"))
	}
	return a.p.say("%s %s: it is not sealed", task, date)
}

func (a *app) restore(ctx context.Context, where located, led *ledger.Ledger, b ledger.Batch, o restoreOptions) (file string, err error) {
	d, err := a.folder(where, "")
	if err != nil {
		return "", err
	}
	own := d.Path(b)
	if o.from != "" {
		if b.SealedIn, err = filepath.Abs(o.from); err != nil {
			return "", err
		}
	}
	file = d.Path(b)
	f, err := d.Open(led, b) // before a folder is made for the lock
	if err != nil {
		return file, err
	}
	f.Close()
	d.Dir = filepath.Dir(filepath.Dir(file)) // TASK/DATE.jsonl.zst
	if err := d.Lock(); err != nil {
		return "", err
	}
	defer d.Unlock()
	unlock, err := d.LockPlace(own) // its guards may be about to be removed, by that file
	if err != nil {
		return "", err
	}
	defer unlock()
	if !o.noGuards {
		if err := a.putBackGuards(ctx, where, led, d, b); err != nil {
			return file, err
		}
	}
	return file, d.Restore(ctx, led, b)
}
