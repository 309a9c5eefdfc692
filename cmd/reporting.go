package cmd

import (
	"github.com/spf13/cobra"

	"runner/runner"
)

// reporting runs fn and, where JSON or Markdown is wanted, turns an error into a
// summary too: who reads stdout alone, a script or the page of a CI job, learns
// what happened in any case.
func (a *app) reporting(task string, c *cobra.Command, fn func() error) error {
	err := fn()
	if err == nil || isReported(err) || a.p.form == formTable || a.p.form == formCSV {
		return err
	}
	if perr := a.printSummaries([]summaryJSON{newSummary(a.failedSummary(task, c, err), nil)}, false, true); perr != nil {
		return perr
	}
	return err
}

// failedSummary is that of a run which never came to be.
func (a *app) failedSummary(task string, c *cobra.Command, err error) runner.Summary {
	s := runner.Summary{TaskName: task, Result: runner.Invalid, Error: err.Error()}
	up := c.Flags().Lookup("catch-up") // has no date of its own
	if f := c.Flags().Lookup("date"); f != nil && (up == nil || !up.Changed) {
		if where, lerr := a.locate(false); lerr == nil {
			s.TimeZone = where.zoneName
			if d, derr := parseDate(f.Value.String(), a.now(), where.zone); derr == nil {
				s.ExecuteDate = d
			}
		}
	}
	switch codeOfError(err) {
	case exitLedger:
		s.Result = runner.LedgerError
	case exitBusy:
		s.Result = runner.IsBusy
	case exitHUP, exitINT, exitTERM:
		s.Result = runner.Interrupted
	}
	return s
}
