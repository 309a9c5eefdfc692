package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"runner/ledger"
)

// insertMany makes a batch with n records, about 100 bytes each.
func insertMany(tx ledger.Tx, n int) error {
	b := ledger.Batch{TaskName: "t", ExecuteDate: "2026-11-11"}
	if err := tx.PutBatch(&b); err != nil {
		return err
	}
	in := make([]ledger.Input, n)
	for i := range in {
		in[i] = ledger.Input{BizID: fmt.Sprintf("r%09d", i), Payload: []byte(`{"some":"thing to take up a little space"}`)}
	}
	_, err := tx.Insert(b.ID, in)
	return err
}

func limitPages(t *testing.T, s *Store, n int) {
	t.Helper()
	s.ask(t, s.writer, fmt.Sprintf("PRAGMA max_page_count = %d", n))
}

func TestAFullDiskIsTriedOnceMoreAndThenSaid(t *testing.T) {
	s := openIn(t, t.TempDir())
	limitPages(t, s, 60)
	calls := 0
	err := s.Update(ctx, func(tx ledger.Tx) error {
		calls++
		return insertMany(tx, 10_000)
	})
	unusable(t, err, "no room left")
	if calls != 2 {
		t.Errorf("the function ran %d times, want 2", calls)
	}
	if n := len(entries(t, s)); n != 0 {
		t.Errorf("%d records of a failed update are there", n)
	}
	// One who overlooks the error commits nothing either.
	err = s.Update(ctx, func(tx ledger.Tx) error {
		_ = insertMany(tx, 10_000)
		return nil
	})
	unusable(t, err, "no room left")

	limitPages(t, s, 1_000_000)
	update(t, s, func(tx ledger.Tx) error { return insertMany(tx, 10_000) })
	if n := len(entries(t, s)); n != 10_000 {
		t.Errorf("%d records once there is room, want 10000", n)
	}
}

func TestRoomThatIsMadeIsUsed(t *testing.T) {
	s := openIn(t, t.TempDir())
	limitPages(t, s, 60)
	calls := 0
	update(t, s, func(tx_ ledger.Tx) error {
		if calls++; calls == 2 {
			if err := tx_.(*tx).c.script("PRAGMA max_page_count = 1000000"); err != nil {
				return err
			}
		}
		return insertMany(tx_, 10_000)
	})
	if n := len(entries(t, s)); n != 10_000 || calls != 2 {
		t.Errorf("%d records after %d calls, want 10000 after 2", n, calls)
	}
}

func TestADamagedLedgerIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	populated(t, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(4096); at < st.Size(); at += 4096 { // all pages but the first
		if _, err := f.WriteAt([]byte("garbage garbage garbage"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, path, Options{AllowNetworkFS: true})
	if err == nil {
		defer s.Close()
		err = s.View(ctx, func(r ledger.Reader) error {
			_, err := r.List(ledger.Query{})
			return err
		})
	}
	unusable(t, err, "damaged")
}
