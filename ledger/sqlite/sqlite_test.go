package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"runner/ledger"
	"runner/ledger/ledgertest"
)

func TestMain(m *testing.M) {
	if os.Getenv(envOpen) != "" {
		openChild()
		os.Exit(0)
	}
	ledgertest.Main(m, func(dir string) (ledger.Store, error) {
		return Open(context.Background(), filepath.Join(dir, "ledger.db"), Options{Create: true, AllowNetworkFS: true})
	})
}

func TestStore(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T, dir string) ledger.Store { return openIn(t, dir) })
}

func BenchmarkStore(b *testing.B) {
	ledgertest.Benchmark(b, func(b testing.TB, dir string) ledger.Store { return openIn(b, dir) })
}

// openIn opens, or creates, the ledger of a folder, for as long as the test
// lasts. Folders of tests may lie anywhere.
func openIn(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(context.Background(), filepath.Join(dir, "ledger.db"), Options{Create: true, AllowNetworkFS: true, Version: "test"})
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
