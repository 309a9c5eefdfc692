//go:build linux

package crash

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql" // looks at business databases from outside
	_ "github.com/jackc/pgx/v5/stdlib" // the same

	"runner/internal/dbtest"
)

// shop is a server of business databases.
type shop struct {
	// fresh makes a database: its address, and how to look at it from outside.
	fresh   func(t *testing.T, name string) (address, driver, dsn string)
	kill    func(t testing.TB) // nil: there is no server
	restart func(t testing.TB)
}

var shops = []struct {
	kind  string
	start func(t *testing.T) *shop
}{{"sqlite", sqliteShop}, {"postgres", postgresShop}, {"mariadb", mariaShop}}

func sqliteShop(*testing.T) *shop {
	return &shop{fresh: func(t *testing.T, _ string) (string, string, string) {
		path := filepath.Join(t.TempDir(), "shop.db")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return "sqlite://" + path, "sqlite", "file:" + path + "?_pragma=busy_timeout(10000)"
	}}
}

func postgresShop(t *testing.T) *shop {
	p := dbtest.StartPostgres(t, dbtest.Durable...)
	killed := 0
	return &shop{
		fresh: func(t *testing.T, name string) (string, string, string) {
			dbtest.Exec(t, p.Address, "CREATE DATABASE "+name)
			u, err := url.Parse(p.Address)
			if err != nil {
				t.Fatal(err)
			}
			u.Path = "/" + name
			return u.String(), "pgx", u.String()
		},
		kill: func(t testing.TB) {
			if killed++; killed%2 == 0 {
				p.Crash(t) // all of its processes at once
			} else {
				p.Kill(t)
			}
		},
		restart: p.Restart,
	}
}

func mariaShop(t *testing.T) *shop {
	m := dbtest.StartMariaDB(t)
	return &shop{
		fresh: func(t *testing.T, name string) (string, string, string) {
			d := m.Database(t, name)
			return d.URL, "mysql", d.DSN
		},
		kill: m.Kill, restart: m.Restart,
	}
}
