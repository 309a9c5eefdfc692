package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runner/ledger"
	"runner/ledger/internal/pool"
)

var ctx = context.Background()

// files is every file of a folder with what it holds.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		m[p] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// script makes a database with SQLite alone, as another program would.
func script(t *testing.T, path, text string) {
	t.Helper()
	c, err := dial(path, dsn(path, "rwc", cacheReader, false))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.script(text), c.close()); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func unusable(t *testing.T, err error, why string) {
	t.Helper()
	var u *ledger.UnusableError
	if !errors.As(err, &u) {
		t.Fatalf("got %v, want an UnusableError that says %q", err, why)
	}
	if !strings.Contains(u.Why, why) || u.Path == "" {
		t.Fatalf("got %q for %q, want %q", u.Why, u.Path, why)
	}
}

// closed makes a ledger with nothing beside it.
func closed(t *testing.T, path string) {
	t.Helper()
	s, err := Open(ctx, path, Options{Create: true, AllowNetworkFS: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func update(t *testing.T, s *Store, fn func(ledger.Tx) error) {
	t.Helper()
	if err := s.Update(ctx, fn); err != nil {
		t.Fatal(err)
	}
}

// ask gives all rows of a query on a pool's connection.
func (s *Store) ask(t *testing.T, p *pool.Pool[conn], query string, args ...driver.Value) (rows [][]driver.Value) {
	t.Helper()
	c, err := p.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Put(c)
	err = c.queryOnce(ctx, query, func(row []driver.Value) error {
		rows = append(rows, append([]driver.Value(nil), row...))
		return nil
	}, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return rows
}
