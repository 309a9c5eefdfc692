package cmd

import (
	"context"
	"path/filepath"
	"strings"

	"runner/ledger"
	"runner/ledger/postgres"
	"runner/ledger/sqlite"
	"runner/tasks"
)

// Windows takes the slashes too.
const (
	defaultLedger  = ".runner/ledger.db"
	defaultRunsDir = ".runner/runs"    // of ledgers that have no folder of their own
	defaultArchive = ".runner/archive" // likewise
)

// store is what every kind of ledger tells besides its records.
type store interface {
	ledger.Store
	Created() bool   // by this Open
	Path() string    // of a file, or the address without password
	RunsDir() string // where run files lie
	Schema() int     // version of the tables
}

type openOptions struct{ readOnly, create bool }

// openStore opens a ledger of the kind that its address names.
func (a *app) openStore(ctx context.Context, l located, o openOptions) (store, error) {
	if postgres.Is(l.ledger) {
		s, err := postgres.Open(ctx, l.ledger, postgres.Options{
			ReadOnly: o.readOnly, Create: o.create, Version: programVersion(), RunsDir: l.runsDir,
		})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := sqlite.Open(ctx, l.ledger, sqlite.Options{
		ReadOnly: o.readOnly, Create: o.create, AllowNetworkFS: a.flags.networkFS, Version: programVersion(),
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// shown names the ledger for people: without a password.
func (l located) shown() string { return shownLedger(l.ledger) }

func shownLedger(ledger string) string {
	if postgres.Is(ledger) {
		return postgres.Shown(ledger)
	}
	return ledger
}

// ledgerPlace is --ledger, else $RUNNER_LEDGER, else what the configuration
// says, else .runner/ledger.db beside it or in the working directory; and
// where run files lie, if not beside the ledger.
func (a *app) ledgerPlace(c *tasks.Config) (at, runsDir string, err error) {
	at = a.flags.ledger
	if at == "" {
		at = a.getenv("RUNNER_LEDGER")
	}
	dir := ""
	if c != nil {
		dir = c.Dir
		if at == "" {
			at = c.Ledger
		}
	}
	if at == "" {
		at = filepath.Join(dir, defaultLedger)
	}
	switch scheme, _, ok := strings.Cut(at, "://"); {
	case postgres.Is(at):
		runsDir, err = a.absolute(a.flags.runDir, filepath.Join(dir, defaultRunsDir))
		return at, runsDir, err
	case ok:
		return "", "", withHint(usagef("ledger addresses of the kind %s:// are not supported", scheme),
			"give the path of a file on a local disk, or postgres://user@host/database")
	case a.flags.runDir != "":
		return "", "", withHint(usagef("--run-dir is for ledgers on PostgreSQL"), "the run files of this one lie beside it, in %s.runs", at)
	}
	at, err = a.absolute(at, "")
	return at, "", err
}

// absolute makes of path, or what stands for it, one that holds in any folder.
func (a *app) absolute(path, otherwise string) (string, error) {
	if path == "" {
		path = otherwise
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", usagef("can't tell the working directory: %w", err)
	}
	return abs, nil
}
