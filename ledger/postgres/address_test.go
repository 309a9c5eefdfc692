package postgres

import (
	"strings"
	"testing"

	"runner/internal/dbtest"
)

func TestAnAddressIsShownWithoutItsPassword(t *testing.T) {
	for at, want := range map[string]string{
		"postgres://app:s3cret@db.example/batch":                               "postgres://app@db.example/batch",
		"postgresql://app:s3cret@db.example:5433/batch?sslmode=require":        "postgres://app@db.example:5433/batch",
		"postgres://app:s3cret%40%2F@db.example/batch?search_path=runner":      "postgres://app@db.example/batch?search_path=runner",
		"postgres://app@db.example/batch?password=s3cret":                      "postgres://app@db.example/batch",
		"postgres://app:s3cret@/batch?host=/run/postgresql":                    "postgres://app@/batch?host=/run/postgresql",
		"postgres://app:s3cret@one:5432,two:5432/batch":                        "postgres://app@one:5432,two:5432/batch",
		"postgres://app:s3cret@db.example/batch?sslmode=nonsense":              "postgres://…",
		"postgres://app:s3cret@s3cret:s3cret@db.example:nonsense/batch?s3cret": "postgres://…",
		"postgres://app:%s3cret@db.example/batch":                              "postgres://…",
	} {
		if got := Shown(at); got != want {
			t.Errorf("%s is shown as %s, want %s", at, got, want)
		}
	}
}

func TestPasswordsAreInNoError(t *testing.T) {
	server := dbtest.SharedPostgres(t)
	socket := strings.Replace(server, "//postgres@/postgres?", "//%s:s3cret@/%s?", 1)
	for name, at := range map[string]string{
		"unreadable":  "postgres://app:s3cret@host:s3cret/batch",
		"unreachable": "postgres://app:s3cret@127.0.0.1:1/batch",
		"no host":     "postgres://app:s3cret@host.invalid/batch",
		"no role":     strings.Replace(strings.Replace(socket, "%s", "nobody_s3cret", 1), "%s", "postgres", 1),
		"no database": strings.Replace(strings.Replace(socket, "%s", "postgres", 1), "%s", "nowhere", 1),
	} {
		_, err := Open(ctx, at, Options{Create: true, Patience: 1})
		if err == nil || name != "no role" && strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), ":s3cret") {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		unusable(t, err, "ledger ")
	}
}
