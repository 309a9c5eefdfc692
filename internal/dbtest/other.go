//go:build !unix

package dbtest

import "testing"

// Postgres skips the test: servers are started on Unix only.
func Postgres(t testing.TB) string {
	missing(t, "throwaway databases are started on Unix only")
	return ""
}
