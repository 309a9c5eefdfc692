package cmd

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/ledger/postgres"
	"runner/ledger/sqlite"
)

func newLedgerBackupCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the ledger while runs go on, and check the copy",
		Long: `Write a consistent copy of the ledger to FILE while runs go on, read it through,
and only then give it its name. FILE must not exist. Archive files are not part
of it: copy their folder too. A ledger on PostgreSQL is backed up by pg_dump.

Don't copy a backup back by hand: what was done since would be done again.
runner ledger restore-backup puts it in doubt.

EXIT STATUS
  0 the copy is whole; 2 usage is wrong, or FILE exists or can't be made, 7 the
  ledger can't be used, or the copy can't be finished, 129, 130, 143 interrupted.`,
		Example: `  runner ledger backup /backup/ledger-$(date +%F).db
  runner ledger backup ledger.bak --ledger /srv/coupons/.runner/ledger.db -q`,
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error { return runBackup(c.Context(), a, args[0]) },
	}
}

type backupJSON struct {
	Ledger string `json:"ledger"`
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
}

// onlyFiles refuses ledgers that are no file.
func onlyFiles(where located, hint string) error {
	if postgres.Is(where.ledger) {
		return withHint(usagef("the ledger is on PostgreSQL"), "%s", hint)
	}
	return nil
}

func runBackup(ctx context.Context, a *app, file string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	if err := onlyFiles(where, "pg_dump makes a consistent copy while runs go on: pg_dump -Fc -f FILE DATABASE"); err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	s, err := a.openStore(ctx, where, openOptions{readOnly: true})
	if err != nil {
		return causeOf(ctx, err)
	}
	defer s.Close() // it was only read
	v := backupJSON{Ledger: s.Path(), File: file}
	v.Bytes, err = s.(*sqlite.Store).Backup(ctx, file)
	var path *fs.PathError
	if errors.As(err, &path) {
		return withHint(usagef("%w", err), "name a file that doesn't exist yet, in a folder that may be written to")
	}
	if err != nil && ctx.Err() == nil && !errors.As(err, new(*ledger.UnusableError)) {
		err = &ledger.UnusableError{Path: s.Path(), Why: "the copy can't be finished as " + file, Err: err, Hint: "nothing was replaced; name a file on another disk"}
	}
	if err != nil {
		return causeOf(ctx, err)
	}
	if a.p.form == formTable && a.p.quiet {
		return nil
	}
	return object(a.p, v, []field{{"ledger", v.Ledger}, {"file", v.File}, {"bytes", strconv.FormatInt(v.Bytes, 10)}})
}
