//go:build unix

package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// EnvPostgres is the address of the PostgreSQL that tests use, where one runs
// already: postgres://user@host/postgres. Its user may create databases.
const EnvPostgres = "RUNNER_TEST_POSTGRES"

// Fast are the settings of the shared server: a machine that dies may lose
// all of it. Durable are those of one that is measured.
var (
	Fast    = []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"}
	Durable = []string{"fsync=on", "synchronous_commit=on", "max_wal_size=4GB", "shared_buffers=256MB"}
)

var shared struct {
	sync.Mutex
	address string
}

var databases atomic.Int64

// Postgres gives the address of a new, empty database, which is dropped when
// the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	return Database(t, SharedPostgres(t))
}

// SharedPostgres gives the address of the shared server: its database
// postgres, in which a test may make schemas.
func SharedPostgres(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.address == "" {
		shared.address = os.Getenv(EnvPostgres)
	}
	if shared.address == "" {
		p := startPostgres(t, Fast)
		shared.address = p.Address
		check(t, os.Setenv(EnvPostgres, p.Address)) // for the children of this process
	}
	return shared.address
}

// Database gives the address of a new, empty database of a server, which is
// dropped when the test ends.
func Database(t testing.TB, server string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), databases.Add(1))
	Exec(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { Exec(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(server)
	check(t, err)
	u.Path = "/" + name
	return u.String()
}

// Exec runs statements, each by itself, on a connection of its own.
func Exec(t testing.TB, address string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), address)
	check(t, err)
	defer func() { check(t, c.Close(context.Background())) }()
	for _, s := range statements {
		if _, err := c.Exec(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// PostgresServer is a server for one test, which may stop it.
type PostgresServer struct {
	Address string // of its database postgres; its user may do everything
	s       *server
}

// StartPostgres starts a server for one test alone.
func StartPostgres(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	p := startPostgres(t, settings)
	t.Cleanup(func() { check(t, p.s.end()) })
	return p
}

// Crash stops the server at once, as pg_ctl stop -m immediate does.
func (p *PostgresServer) Crash(t testing.TB) {
	t.Helper()
	check(t, p.s.order("QUIT"))
}

// Kill kills the server's first process; the others notice that.
func (p *PostgresServer) Kill(t testing.TB) {
	t.Helper()
	check(t, p.s.order("KILL"))
}

// Restart starts the server after Crash or Kill, and waits until it answers.
func (p *PostgresServer) Restart(t testing.TB) {
	t.Helper()
	check(t, p.s.again())
}

// Dir is the folder of the server, with its file log.
func (p *PostgresServer) Dir() string { return p.s.dir }

func startPostgres(t testing.TB, settings []string) *PostgresServer {
	t.Helper()
	bin := postgresFolder()
	if bin == "" {
		missing(t, "PostgreSQL is not installed: apt-get install postgresql")
	}
	dir, owner, err := makeDir("pg", "postgres")
	check(t, err)
	s := &server{dir: dir, last: "QUIT"}
	data := filepath.Join(dir, "data")
	initdb := s.as(owner, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	s.args = []string{filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=200"}
	for _, v := range settings {
		s.args = append(s.args, "-c", v)
	}
	address := "postgres://postgres@/postgres?" + url.Values{"host": {dir}, "sslmode": {"disable"}}.Encode()
	s.ping = pinging(address)
	check(t, s.run(owner))
	return &PostgresServer{Address: address, s: s}
}

// pinging asks whether a server answers.
func pinging(address string) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c, err := pgx.Connect(ctx, address)
		if err != nil {
			return err
		}
		return c.Close(ctx)
	}
}

// postgresFolder is where the newest installed server's programs are: Debian
// keeps them out of PATH.
func postgresFolder() string {
	newest, version := "", 0
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is right
	for _, path := range found {
		var v int
		if _, err := fmt.Sscanf(path, "/usr/lib/postgresql/%d/", &v); err == nil && v > version {
			newest, version = filepath.Dir(path), v
		}
	}
	if newest != "" {
		return newest
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		return ""
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return filepath.Dir(path)
}
