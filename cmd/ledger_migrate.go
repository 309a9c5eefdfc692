package cmd

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
)

func newLedgerMigrateCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Make the ledger, or bring its tables up to date",
		Long: `Make the ledger where there is none, whatever create_ledger says, or bring its
tables up to date. Runs do so by themselves. On PostgreSQL, where their role may
be one that may not, a role that may does it once and after updates of runner:
afterwards the role of the runs needs USAGE of the schema, and SELECT, INSERT and
UPDATE of its tables; for runner ledger archive also DELETE.

EXIT STATUS
  0 the ledger is there and up to date, 7 the ledger can't be used.`,
		Example: `  runner ledger migrate --ledger 'postgres://admin@db.example/batch'
  RUNNER_LEDGER='postgres://admin@db.example/batch?search_path=runner' runner ledger migrate -o json`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return runMigrate(c.Context(), a) },
	}
}

type migrateJSON struct {
	Ledger  string `json:"ledger"`
	Schema  int    `json:"schema"`
	Created bool   `json:"created"`
}

func runMigrate(ctx context.Context, a *app) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	s, err := a.openStore(ctx, where, openOptions{create: true})
	if err != nil {
		return causeOf(ctx, err)
	}
	v := migrateJSON{Ledger: s.Path(), Schema: s.Schema(), Created: s.Created()}
	if err := s.Close(); err != nil {
		return err
	}
	return object(a.p, v, []field{
		{"ledger", v.Ledger},
		{"schema", strconv.Itoa(v.Schema)},
		{"created", strconv.FormatBool(v.Created)},
	})
}
