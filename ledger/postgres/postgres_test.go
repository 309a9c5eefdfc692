package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"runner/internal/dbtest"
	"runner/ledger"
	"runner/ledger/ledgertest"

	"github.com/jackc/pgx/v5"
)

// envPooler tells processes of the suite to go through a pooler.
const envPooler = "RUNNER_TEST_POOLER"

func TestMain(m *testing.M) {
	ledgertest.Main(m, func(dir string) (ledger.Store, error) {
		server := os.Getenv(envPooler)
		if server == "" {
			server = os.Getenv(dbtest.EnvPostgres)
		}
		at := inDir(server, dir)
		if err := makeSchema(at); err != nil {
			return nil, err
		}
		return Open(context.Background(), at, Options{Create: true})
	})
}

func TestStore(t *testing.T) {
	server := dbtest.SharedPostgres(t)
	ledgertest.Run(t, func(t *testing.T, dir string) ledger.Store { return openIn(t, server, dir) })
}

// A pooler gives each transaction another session, and each session to others:
// what a transaction leaves behind, others find.
func TestStoreBehindAPooler(t *testing.T) {
	server := dbtest.SharedPostgres(t)
	pooled := dbtest.PgBouncer(t, server)
	t.Setenv(envPooler, pooled)
	ledgertest.Run(t, func(t *testing.T, dir string) ledger.Store { return openIn(t, pooled, dir) })
}

func BenchmarkStore(b *testing.B) {
	server := dbtest.StartPostgres(b, dbtest.Durable...).Address
	ledgertest.Benchmark(b, func(b testing.TB, dir string) ledger.Store { return openIn(b, server, dir) })
}

// inDir is the address of the ledger that stands for a folder: a schema.
func inDir(server, dir string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err)
	}
	q := u.Query()
	q.Set("search_path", fmt.Sprintf("t%x", sha256.Sum256([]byte(dir)))[:20])
	u.RawQuery = q.Encode()
	return u.String()
}

func makeSchema(at string) error {
	a, err := parse(at)
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := pgx.ConnectConfig(ctx, a.config)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.PgConn().Exec(ctx, "BEGIN; SELECT pg_advisory_xact_lock(1); CREATE SCHEMA IF NOT EXISTS "+a.searchPath+"; COMMIT").ReadAll()
	return err
}

var made sync.Map // schemas that are dropped at the end of their test

// openIn opens, or creates, the ledger of a folder, for as long as the test
// lasts.
func openIn(t testing.TB, server, dir string) *Store {
	t.Helper()
	at := inDir(server, dir)
	if err := makeSchema(at); err != nil {
		t.Fatal(err)
	}
	if _, there := made.LoadOrStore(at, true); !there {
		a, _ := parse(at)
		t.Cleanup(func() { dbtest.Exec(t, server, "DROP SCHEMA "+a.searchPath+" CASCADE") })
	}
	s, err := Open(context.Background(), at, Options{Create: true, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
