package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/ledger/sqlite"
	"runner/runner"
)

func newLedgerRestoreBackupCmd(a *app) *cobra.Command {
	var o restoreBackupOptions
	c := &cobra.Command{
		Use:   "restore-backup FILE",
		Short: "Put a backup in the place of the ledger; what may have been done since is in doubt",
		Long: `Put a backup in the place of the ledger. The ledger that was there is kept beside
it, with its run files. A backup keeps the id of its ledger, so archives still
belong to it.

What was done since the backup it doesn't know. So the records that were open in
it come back in doubt, and so does what is planned from now on for the execute
dates from the day before the backup to the last one that the ledger that was
there knows, or today: checks are asked, idempotent tasks repeat, and the rest is
held for a person. Where that ledger is lost, there is no last one: each new date
is in doubt, until --until DATE says which was the last that was run. What had
failed stays failed, and is counted: look whether it was done since, before you
rerun it. --trust leaves all as it was in the backup: nothing was done since, or
doing it again is harmless.

Tasks must not be running. It is refused while a run is alive.

EXIT STATUS
  0 restored; 2 usage is wrong, or FILE is no backup of this ledger; 5 a run is
  alive, 7 the ledger can't be used, 129, 130, 143 interrupted.`,
		Example: `  runner ledger restore-backup /backup/ledger-2026-11-28.db
  runner ledger restore-backup /backup/ledger-2026-11-28.db --until 2026-11-30
  runner ledger ls --status in_doubt --limit 0`,
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error { return runRestoreBackup(c.Context(), a, o, args[0]) },
	}
	c.Flags().StringVar(&o.until, "until", "", "no later execute `DATE` was run since the backup (default: as the ledger that was there says)")
	c.Flags().BoolVar(&o.trust, "trust", false, "nothing was done since the backup: put nothing in doubt")
	return c
}

type restoreBackupOptions struct {
	until string
	trust bool
}

// backJSON is a backup that was brought back. Its names are an interface.
type backJSON struct {
	Ledger    string `json:"ledger"`
	Backup    string `json:"backup"`
	BackupAt  stamp  `json:"backup_at"`
	InDoubt   int64  `json:"in_doubt"`   // records that were open in it
	Failed    int64  `json:"failed"`     // records that had failed in it, and stay so
	BlindFrom string `json:"blind_from"` // what is new on these execute dates comes in doubt
	BlindTo   string `json:"blind_to"`   // 9999-12-31: nothing tells of a last one
	Kept      string `json:"kept"`       // the ledger that was there, or with endings what was left of it; empty if nothing
}

func runRestoreBackup(ctx context.Context, a *app, o restoreBackupOptions, file string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	if err := onlyFiles(where, "pg_restore brings back what pg_dump made, and nothing puts in doubt what was done since: "+
		"before the next run set check_first: true where a task has a check; elsewhere find out, and runner ledger mark … --as done, or --as skipped where it can't be told"); err != nil {
		return err
	}
	if p, err := filepath.EvalSymlinks(where.ledger); err == nil {
		where.ledger = p
	}
	if st, err := os.Stat(file + "-wal"); err == nil && st.Size() > 0 {
		return withHint(usagef("%s is a ledger in use: part of it lies in its -wal file", file), "make a backup of it: runner ledger backup FILE --ledger %s", file)
	}
	if err := nobodyRuns(where.ledger+".runs", a.now()); err != nil {
		return err
	}
	had, err := a.present(ctx, where)
	if err != nil {
		return err
	}
	if o.until != "" {
		if had.last, err = parseDate(o.until, a.now(), where.zone); err != nil {
			return err
		}
	}
	copied, err := sqlite.CopyBackup(file, where.ledger, a.now())
	if err != nil {
		return withHint(usagef("%w", err), "runner ledger backup makes one")
	}
	defer sqlite.Discard(copied)
	v := backJSON{Ledger: where.ledger, Backup: file}
	if err := a.makeReady(ctx, where, o, copied, had, &v); err != nil {
		return causeOf(ctx, err)
	}
	if v.Kept, err = sqlite.Replace(ctx, where.ledger, copied, a.now()); err != nil {
		e := &ledger.UnusableError{Path: where.ledger, Why: "the backup can't be put in its place", Err: err}
		if v.Kept != "" {
			e.Hint = "what of it was moved away is in " + v.Kept + "*"
		}
		return e
	}
	return a.sayBack(v)
}

// nobodyRuns fails if somebody holds the lock of a run file.
func nobodyRuns(dir string, now time.Time) error {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") || !f.Type().IsRegular() {
			continue
		}
		if runner.Live(ledger.Run{ID: f.Name(), File: filepath.Join(dir, f.Name())}, dir, now) {
			return withHint(&ledger.RefusedError{Busy: true, Key: ledger.Key{TaskName: "run", BizID: f.Name()}, Why: "it is alive"}, "nothing was changed; wait until it has ended (runner runs ls)")
		}
	}
	return nil
}

// presentLedger is the one that is to be replaced.
type presentLedger struct {
	id   string // empty if there is none, or one that can't be read
	last string // execute date that it may have been run for
}

// present looks at the ledger that is to be replaced. Opening it folds what is
// left in its WAL into it.
func (a *app) present(ctx context.Context, where located) (presentLedger, error) {
	none := presentLedger{last: ledger.Forever}
	s, err := a.openStore(ctx, where, openOptions{})
	if err != nil {
		if ctx.Err() != nil {
			return none, err
		}
		if !errors.Is(err, ledger.ErrNoLedger) {
			a.p.note("what is there can't be used: %v", err)
		}
		return none, nil
	}
	defer s.Close() // again below, where it counts
	last, err := lastRun(ctx, ledger.New(s), a.now().In(where.zone).Format(time.DateOnly))
	if err != nil {
		if ctx.Err() != nil {
			return none, err
		}
		last = ledger.Forever // it is damaged, which is why it is replaced
	}
	return presentLedger{s.ID(), last}, s.Close()
}

// lastRun is the last execute date, from today on, that a ledger may have been
// run for. A backup that somebody put there by hand doesn't know it.
func lastRun(ctx context.Context, led *ledger.Ledger, today string) (last string, err error) {
	blind, err := led.Blindness(ctx)
	if err != nil {
		return "", err
	}
	at, err := backupAt(ctx, led)
	if err != nil || !at.IsZero() && !at.Equal(blind.BackupAt) {
		return ledger.Forever, err
	}
	last = max(today, blind.To)
	batches, err := led.Batches(ctx, "", "", "")
	for _, b := range batches {
		last = max(last, b.ExecuteDate)
	}
	return last, err
}

// backupAt is when the backup was made that a ledger was; zero if it was none.
func backupAt(ctx context.Context, led *ledger.Ledger) (at time.Time, err error) {
	err = led.Store().View(ctx, func(r ledger.Reader) error {
		text, err := r.Meta(sqlite.MetaBackupAt)
		if t, perr := time.Parse(time.RFC3339Nano, text); perr == nil {
			at = t
		}
		return err
	})
	return at, err
}

// makeReady checks a copy of the backup, and puts in doubt what it can't know.
func (a *app) makeReady(ctx context.Context, where located, o restoreBackupOptions, copied string, had presentLedger, v *backJSON) error {
	at := where
	at.ledger = copied
	s, err := a.openStore(ctx, at, openOptions{})
	var unusable *ledger.UnusableError
	if errors.As(err, &unusable) || errors.Is(err, ledger.ErrNoLedger) {
		return withHint(usagef("%s is no backup of a ledger: %v", v.Backup, err), "runner ledger backup makes one")
	}
	if err != nil {
		return err
	}
	defer s.Close() // again below, where it counts
	health, err := s.(*sqlite.Store).Health(ctx, sqlite.HealthQuery{Integrity: true})
	switch {
	case err != nil:
		return err
	case len(health.Damage) > 0:
		return usagef("%s is damaged: %s", v.Backup, health.Damage[0])
	case had.id != "" && had.id != s.ID():
		return withHint(usagef("%s is a backup of another ledger, %s", v.Backup, s.ID()), "move the ledger at %s away if that is meant", where.ledger)
	}
	led := ledger.New(s)
	made, err := backupAt(ctx, led)
	if v.BackupAt = (stamp{made}); made.IsZero() { // a copy made by other means
		v.BackupAt = stamp{health.Newest}
	}
	if err == nil {
		v.Failed, err = failedIn(ctx, led)
	}
	if err == nil && !o.trust {
		err = a.goBlind(ctx, where, led, had.last, v)
	}
	return errors.Join(err, s.Close())
}

// failedIn counts the records that have failed.
func failedIn(ctx context.Context, led *ledger.Ledger) (n int64, err error) {
	batches, err := led.Batches(ctx, "", "", "")
	for _, b := range batches {
		n += b.Counts[ledger.Failed]
	}
	return n, err
}

// blind is the span of dates of which the ledger doesn't know what was done.
func (v *backJSON) blind() string {
	if v.BlindTo == ledger.Forever {
		return "from " + v.BlindFrom + " on, without an end (restore it again with --until DATE if no later one was run)"
	}
	return "on " + v.BlindFrom + " to " + v.BlindTo
}

// goBlind puts in doubt what a backup can't know. What it didn't know already,
// because it is of a ledger that had been restored, it still doesn't.
func (a *app) goBlind(ctx context.Context, where located, led *ledger.Ledger, last string, v *backJSON) error {
	before, err := led.Blindness(ctx)
	if err != nil {
		return err
	}
	v.BlindFrom, v.BlindTo = v.BackupAt.In(where.zone).AddDate(0, 0, -1).Format(time.DateOnly), last
	if before.From != "" {
		v.BlindFrom = min(v.BlindFrom, before.From)
	}
	v.InDoubt, err = led.GoBlind(ctx, ledger.Blind{From: v.BlindFrom, To: v.BlindTo, BackupAt: v.BackupAt.Time, RestoredAt: a.now().UTC()})
	return err
}

func (a *app) sayBack(v backJSON) error {
	if a.p.form != formTable {
		return object(a.p, v, []field{{"ledger", v.Ledger}, {"backup of", v.BackupAt.UTC().Format(time.RFC3339)}, {"in doubt", strconv.FormatInt(v.InDoubt, 10)}, {"failed", strconv.FormatInt(v.Failed, 10)}, {"kept", v.Kept}})
	}
	if err := a.p.say("the ledger is that of %s again", v.BackupAt.UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	if v.Kept != "" {
		a.p.note("the one that was there is kept as %s", v.Kept)
	}
	if v.BlindTo != "" {
		a.p.warn(fmt.Sprintf("%s that were open in it are in doubt, for they may have been done since; so will be what is new %s", plural(v.InDoubt, "record"), v.blind()),
			"runner ledger ls --status in_doubt"+a.sameFlags()+" lists them; then runner ledger mark, or runner rerun --status in_doubt")
	}
	if v.BlindTo != "" && v.Failed > 0 {
		a.p.warn(plural(v.Failed, "record")+" that had failed in it stay failed: what of that was tried again and done since, a rerun would do twice",
			"runner ledger ls --status failed"+a.sameFlags()+" lists them; runner ledger mark --as done for what was done, before any rerun")
	}
	return nil
}
