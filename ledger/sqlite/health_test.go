package sqlite

import (
	"maps"
	"path/filepath"
	"testing"

	"runner/ledger"
)

// Case 48.
func TestASurveyNamesANetworkFileSystem(t *testing.T) {
	detect := networkFS
	defer func() { networkFS = detect }()
	networkFS = func(string) (string, error) { return "NFS", nil }
	at := Survey(filepath.Join(t.TempDir(), "new", "ledger.db"))
	unusable(t, at.Network, "it lies on NFS")
	if at.Exists || at.Err != nil {
		t.Errorf("%+v", at)
	}
}

func TestExamineMakesAndChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	closed(t, path)
	before := files(t, dir)
	err := Examine(ctx, path, Options{}, func(s *Store) error {
		_, err := s.Health(ctx, HealthQuery{Integrity: true})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if after := files(t, dir); !maps.Equal(before, after) {
		t.Errorf("there was %d files, now %d, or one was changed", len(before), len(after))
	}
}

func TestExamineLooksAgainWhereSomebodyWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	closed(t, path)
	var seen []int
	err := Examine(ctx, path, Options{AllowNetworkFS: true}, func(s *Store) error {
		var batches []ledger.Batch
		err := s.View(ctx, func(r ledger.Reader) (err error) {
			batches, err = r.Batches("", "")
			return err
		})
		if seen = append(seen, len(batches)); len(seen) > 1 || err != nil {
			return err
		}
		w, err := Open(ctx, path, Options{AllowNetworkFS: true})
		if err != nil {
			return err
		}
		defer w.Close()
		return w.Update(ctx, func(tx ledger.Tx) error {
			return tx.PutBatch(&ledger.Batch{TaskName: "t", ExecuteDate: "2026-11-28"})
		})
	})
	if err != nil || len(seen) != 2 || seen[1] != 1 {
		t.Errorf("it saw %v batches: %v", seen, err)
	}
}
