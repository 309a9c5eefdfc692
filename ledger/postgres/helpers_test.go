package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"runner/internal/dbtest"
	"runner/ledger"
)

var ctx = context.Background()

const (
	task = "grant"
	date = "2026-11-11"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openAt opens, or creates, the ledger at an address.
func openAt(t testing.TB, at string, o Options) *Store {
	t.Helper()
	s, err := Open(ctx, at, o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// fresh is a new ledger in a database of its own.
func fresh(t testing.TB) (*Store, string) {
	t.Helper()
	at := dbtest.Postgres(t)
	return openAt(t, at, Options{Create: true, Version: "test"}), at
}

func update(t testing.TB, s *Store, fn func(ledger.Tx) error) {
	t.Helper()
	must(t, s.Update(ctx, fn))
}

// planned makes a batch with records.
func planned(t testing.TB, s *Store, ids ...string) (b ledger.Batch, list []ledger.Entry) {
	t.Helper()
	update(t, s, func(tx ledger.Tx) error {
		b = ledger.Batch{TaskName: task, ExecuteDate: date}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		in := make([]ledger.Input, len(ids))
		for i, id := range ids {
			in[i].BizID = id
		}
		if _, err := tx.Insert(b.ID, in); err != nil {
			return err
		}
		var err error
		list, err = tx.List(ledger.Query{Ascending: true})
		return err
	})
	return b, list
}

func entries(t testing.TB, s *Store) (list []ledger.Entry) {
	t.Helper()
	must(t, s.View(ctx, func(r ledger.Reader) (err error) {
		list, err = r.List(ledger.Query{Ascending: true})
		return err
	}))
	return list
}

// claim claims a record, and waits for that.
func claim(t ledger.Tx, e ledger.Entry, run string) error {
	if err := t.Swap([]ledger.Change{{Old: e, New: ledger.Claim(e, ledger.Act, run)}}); err != nil {
		return err
	}
	return t.(*tx).do()
}

// unusable checks that err says why the ledger can't be used, and has a hint.
func unusable(t testing.TB, err error, why string) {
	t.Helper()
	var u *ledger.UnusableError
	if !errors.As(err, &u) || !strings.Contains(err.Error(), why) {
		t.Fatalf("got %v, want an UnusableError that says %q", err, why)
	}
	if u.Hint == "" && !strings.Contains(why, "read-only") {
		t.Errorf("%v has no hint", err)
	}
}

// soon is enough for a server of this machine to start again.
const soon = 30 * time.Second
