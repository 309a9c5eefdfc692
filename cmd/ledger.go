package cmd

import "github.com/spf13/cobra"

func newLedgerCmd(a *app) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "ledger",
		Short: "Look into the ledger: what was done, what was not, and why; mark, archive",
		Long: `Look into the ledger: what was done, what was not, and why; settle records by
your word; move what is old and done into files, and back.

EXIT STATUS
  0 printed or done, 2 usage is wrong, 5 a record is running, 7 the ledger can't
  be used; each command's own help says more.`,
		Example: `  runner ledger ls --date yesterday --status failed,in_doubt
  runner ledger show grant-coupon u-1001 --date 2026-11-28`,
	}, newLedgerLsCmd(a), newLedgerShowCmd(a), newLedgerMarkCmd(a), newLedgerStatsCmd(a),
		newLedgerArchiveCmd(a), newLedgerRestoreCmd(a), newLedgerBackupCmd(a), newLedgerRestoreBackupCmd(a),
		newLedgerVerifyCmd(a), newLedgerExportCmd(a), newLedgerMigrateCmd(a))
}
