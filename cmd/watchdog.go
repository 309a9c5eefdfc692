package cmd

import (
	"github.com/spf13/cobra"

	"runner/runner/watchdog"
)

// watchdogArgs is the command line by which a run on a shared ledger starts
// its watchdog. The name is that of this program, whatever its file is called.
var watchdogArgs = []string{"runner", "watchdog"}

// newWatchdog is for runs, not for people.
func newWatchdogCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    watchdogArgs[1],
		Short:  "End what a run does when its lease ends (started by runs on a shared ledger)",
		Hidden: true,
		Args:   exactly(),
		RunE: func(*cobra.Command, []string) error {
			if err := watchdog.Serve(a.stdin, a.stderr); err != nil {
				return &errReported{exitFailed} // there is nobody to tell
			}
			return nil
		},
	}
}
