package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/ledger/archive"
	"runner/ledger/sqlite"
)

func newLedgerVerifyCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Read the ledger and its archives through, and list what is wrong",
		Long: `Read the whole ledger through: the file itself, each record by the rules of its
states, the counters of each batch by a recount, and the archive of each sealed
batch by its checksum, its content and its counts. It changes nothing; runs go
on meanwhile. What is wrong is listed.

EXIT STATUS
  0 nothing is wrong; 1 something is, 2 usage is wrong, 7 the ledger can't be
  used or isn't there, 129, 130, 143 interrupted.`,
		Example: `  runner ledger verify
  runner ledger verify --ledger /backup/ledger-2026-11-28.db -o json`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return runVerify(c.Context(), a) },
	}
}

// wrongJSON is something that is wrong. Its names are an interface.
type wrongJSON struct {
	TaskName    string `json:"task_name"` // empty: of the whole ledger
	ExecuteDate string `json:"execute_date"`
	BizID       string `json:"biz_id"` // empty: of the whole batch
	What        string `json:"what"`
}

// maxWrong of one batch are listed; a broken one has many.
const maxWrong = 100

func runVerify(ctx context.Context, a *app) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	led, err := a.openReader(ctx, where)
	if errors.Is(err, ledger.ErrNoLedger) { // where nothing was read, nothing is known to be right
		err = where.noLedger(err)
	}
	if err != nil {
		return causeOf(ctx, err)
	}
	defer led.Close() // it was only read
	found, batches, err := a.verify(ctx, where, led)
	if err != nil {
		return causeOf(ctx, err)
	}
	if err := list(a.p, wrongColumns, all(found)); err != nil {
		return err
	}
	if len(found) > 0 {
		return &errReported{exitFailed}
	}
	if a.p.form.forPeople() {
		a.p.note("nothing is wrong in %s", plural(int64(batches), "batch"))
	}
	return nil
}

func (a *app) verify(ctx context.Context, where located, led *ledger.Ledger) (found []wrongJSON, batches int, err error) {
	if s, ok := led.Store().(*sqlite.Store); ok {
		h, err := s.Health(ctx, sqlite.HealthQuery{Integrity: true})
		if err != nil {
			return nil, 0, err
		}
		for _, d := range h.Damage {
			found = append(found, wrongJSON{What: d})
		}
		if len(found) > 0 { // what it says besides is worth nothing
			return found, 0, nil
		}
	}
	d, err := a.folder(where, "")
	if err != nil {
		return nil, 0, err
	}
	list, err := led.Batches(ctx, "", "", "")
	if err != nil {
		return nil, 0, err
	}
	for _, b := range list {
		n := 0
		err := led.Verify(ctx, b.TaskName, b.ExecuteDate, func(biz, what string) {
			if n++; n <= maxWrong {
				found = append(found, wrongJSON{b.TaskName, b.ExecuteDate, biz, what})
			}
		})
		if err != nil {
			return nil, 0, err
		}
		if !b.Sealed() {
			continue
		}
		var wrong *archive.FileError
		if err := d.Check(led, b); errors.As(err, &wrong) {
			found = append(found, wrongJSON{b.TaskName, b.ExecuteDate, "", wrong.Error()})
		} else if err != nil {
			return nil, 0, err
		}
	}
	return found, len(list), nil
}

var wrongColumns = []column[wrongJSON]{
	{name: "TASK", cell: func(f wrongJSON) string { return f.TaskName }},
	{name: "DATE", cell: func(f wrongJSON) string { return f.ExecuteDate }},
	{name: "BIZ_ID", cell: func(f wrongJSON) string { return f.BizID }},
	{name: "WHAT", cell: func(f wrongJSON) string { return f.What }, wide: true},
}
