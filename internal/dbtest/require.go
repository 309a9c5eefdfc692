package dbtest

import (
	"os"
	"testing"
)

// EnvRequire makes missing databases fail a test instead of skipping it.
const EnvRequire = "RUNNER_REQUIRE_DATABASES"

func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(EnvRequire) == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format+" (set "+EnvRequire+"=1 to fail instead)", args...)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
