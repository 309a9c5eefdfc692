package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"runner/ledger"
	"runner/ledger/internal/pool"

	"go.uber.org/goleak"
)

func TestPragmasTook(t *testing.T) {
	s := openIn(t, t.TempDir())
	for pragma, want := range map[string]int64{
		"synchronous": 2, "busy_timeout": 10000, "cache_size": -16384, "wal_autocheckpoint": 4000, "foreign_keys": 1,
		"application_id": applicationID, "user_version": int64(len(s.steps)), "fullfsync": 1, "checkpoint_fullfsync": 1, "temp_store": 2,
	} {
		if got := s.ask(t, s.writer, "PRAGMA "+pragma); got[0][0] != want {
			t.Errorf("%s is %v, want %d", pragma, got[0][0], want)
		}
	}
	if got := s.ask(t, s.writer, "PRAGMA journal_mode"); got[0][0] != "wal" {
		t.Errorf("journal_mode is %v", got)
	}
	c, _ := s.readers.Take(ctx)
	defer s.readers.Put(c)
	unusable(t, c.script("CREATE TABLE t(x)"), "can't be written")
	if err := c.script(`SELECT "no_such_column"`); err == nil {
		t.Error("a misspelt column passes as a string")
	}
}

func TestReadingMakesNothingAndChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	closed(t, path)
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)[path]
	s, err := Open(ctx, path, Options{ReadOnly: true, AllowNetworkFS: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.View(ctx, func(r ledger.Reader) error { _, err := r.Batches("", ""); return err }); err != nil {
		t.Fatal(err)
	}
	unusable(t, s.Update(ctx, func(ledger.Tx) error { return nil }), "read-only")
	if s.ID() == "" {
		t.Error("no id")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after := files(t, dir)
	if after[path] != before {
		t.Error("the ledger changed")
	}
	for _, p := range []string{path + ".lock", path + ".runs"} {
		if exists(p) {
			t.Errorf("%s was made", p)
		}
	}
}

func TestAClosedStoreLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	s, err := Open(ctx, filepath.Join(dir, "ledger.db"), Options{Create: true, AllowNetworkFS: true})
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx ledger.Tx) error { return tx.PutBatch(&ledger.Batch{TaskName: "t", ExecuteDate: "2026-11-11"}) })
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(ctx, func(ledger.Tx) error { return nil }); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("update after close: %v", err)
	}
	if err := s.View(ctx, func(ledger.Reader) error { return nil }); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("view after close: %v", err)
	}
	if exists(s.Path() + "-wal") {
		t.Error("the WAL was not folded into the ledger")
	}
}
