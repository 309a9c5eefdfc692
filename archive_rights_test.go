package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"runner/internal/dbtest"
)

func TestABatchIsNotSealedWhereItsRecordsCantBeRemoved(t *testing.T) {
	dir, at := deployment(t), dbtest.Postgres(t)
	run := func(code int, want, address string, args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(dir, "runner"), args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "RUNNER_LEDGER="+address)
		out, err := cmd.CombinedOutput()
		got := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			got = exit.ExitCode()
		}
		if got != code || !strings.Contains(string(out), want) {
			t.Fatalf("%v: exit %d, want %d and %q:\n%s", args, got, code, want, out)
		}
	}
	run(0, "", at, "run", "grant-coupon", "--date", "2026-08-11")
	const role = "runner_without_delete"
	dbtest.Exec(t, at, "CREATE ROLE "+role+" LOGIN", "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO "+role)
	t.Cleanup(func() { dbtest.Exec(t, at, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	limited := strings.Replace(at, "//postgres@", "//"+role+"@", 1)

	run(0, "runner ledger archive won't work: it may not DELETE on record", limited, "doctor", "--fast")
	archive := []string{"ledger", "archive", "--before", "2026-08-12"}
	run(7, "GRANT SELECT, INSERT, UPDATE, DELETE", limited, archive...)
	run(0, `"state":"complete"`, limited, "status", "-o", "json")
	run(0, "40", limited, "run", "grant-coupon", "--date", "2026-08-11", "--from", "ids", "-o", "json")
	dbtest.Exec(t, at, "GRANT DELETE ON record, attempt, output TO "+role)
	run(0, "archived", limited, archive...)
	run(0, "sealed", limited, "status", "-o", "json")
}
