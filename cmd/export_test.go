package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/ledger/archive"
	"runner/ledger/sqlite"
)

func TestAnExportLosesNothingWhenTheBatchIsArchivedMeanwhile(t *testing.T) {
	const n = 2*lsPage + 345
	for _, at := range []int{0, 1, lsPage, 2 * lsPage, n - 1} {
		t.Run(fmt.Sprintf("after %d records", at), func(t *testing.T) {
			seeded(t, n, func(_ int, e *ledger.Entry) { e.Status = ledger.Done })
			s, err := sqlite.Open(context.Background(), defaultLedger, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			led := ledger.New(s)
			home := filepath.Join(t.TempDir(), "archive")
			x := exporter{led: led, dir: &archive.Folder{Dir: home, Home: home}}
			batches, err := led.Batches(t.Context(), "t", "", "")
			if err != nil {
				t.Fatal(err)
			}
			move := func() {
				if m, err := x.dir.Archive(t.Context(), led, "t", "2026-11-28"); err != nil || m.Why != "" {
					t.Fatal(m.Why, err)
				}
			}
			if at == 0 {
				move()
			}
			var got, want []string
			for r, err := range x.rows(t.Context(), batches) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, r.BizID); len(got) == at {
					move()
				}
			}
			for i := range n {
				want = append(want, fmt.Sprintf("u-%04d", i))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
