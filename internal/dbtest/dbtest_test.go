//go:build unix

package dbtest

import (
	"context"
	"database/sql"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestPostgresGivesEachTestAnEmptyDatabase(t *testing.T) {
	one, two := Postgres(t), Postgres(t)
	Exec(t, one, "CREATE TABLE x(n integer)")
	Exec(t, two, "CREATE TABLE x(n integer)")
}

func TestPostgresServerComesBackAfterACrash(t *testing.T) {
	p := StartPostgres(t, Durable...)
	Exec(t, p.Address, "CREATE TABLE x(n integer)")
	p.Crash(t)
	if c, err := pgx.Connect(context.Background(), p.Address); err == nil {
		_ = c.Close(context.Background()) // the error is what counts
		t.Fatal("a stopped server answers")
	}
	p.Restart(t)
	Exec(t, p.Address, "INSERT INTO x VALUES (1)")
}

func TestProxyCutsWhatItPasses(t *testing.T) {
	proxy, through := ProxyPostgres(t, SharedPostgres(t))
	ctx := context.Background()
	c, err := pgx.Connect(ctx, through)
	check(t, err)
	defer c.Close(ctx)
	_, err = c.Exec(ctx, "SELECT 1")
	check(t, err)
	proxy.Cut()
	if _, err = c.Exec(ctx, "SELECT 1"); err == nil {
		t.Fatal("a cut connection answers")
	}
}

func TestMariaDBGivesEachTestAnEmptyDatabase(t *testing.T) {
	for _, m := range []MySQL{MariaDB(t), MariaDB(t)} {
		db, err := sql.Open("mysql", m.DSN)
		check(t, err)
		defer db.Close()
		_, err = db.Exec("CREATE TABLE x(n integer)")
		check(t, err)
		u, err := url.Parse(m.URL)
		check(t, err)
		tcp, err := sql.Open("mysql", u.User.String()+"@tcp("+u.Host+")"+u.Path)
		check(t, err)
		defer tcp.Close()
		_, err = tcp.Exec("INSERT INTO x VALUES (1)")
		check(t, err)
	}
}
