//go:build linux

package crash

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// everything is all that a ledger holds of records, as text.
func (b *bed) everything() string {
	b.t.Helper()
	db := b.db()
	defer db.Close()
	var out strings.Builder
	for _, query := range []string{
		"SELECT * FROM record ORDER BY id", "SELECT * FROM attempt ORDER BY record_id, fence", "SELECT * FROM output ORDER BY record_id, fence",
		"SELECT id, n_pending, n_running, n_done, n_failed, n_in_doubt, n_skipped, first_id, last_id FROM batch ORDER BY id",
	} {
		rows, err := db.Query(query)
		b.must(err)
		columns, err := rows.Columns()
		b.must(err)
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			b.must(rows.Scan(values...))
			for _, v := range values {
				fmt.Fprintf(&out, "%v|", *v.(*any))
			}
			out.WriteByte('\n')
		}
		b.must(rows.Err())
		b.must(rows.Close())
	}
	return out.String()
}

// TestAnArchiveAndARestoreKilledAtAnySystemCallLoseNothing walks over the
// system calls of both: killed at the n-th, the batch is done neither again
// nor less, and the same command makes an end of it (case 63).
func TestAnArchiveAndARestoreKilledAtAnySystemCallLoseNothing(t *testing.T) {
	needStrace(t)
	whole := newBed(t, 6, "retry: {attempts: 1}")
	whole.write("fail/u00003", "")
	whole.plain(1)
	whole.must(os.Remove(whole.path("fail/u00003")))
	whole.run([]int{0}, "rerun", task, "--date", date)
	before := whole.everything()
	archive, restore := []string{"ledger", "archive", "--before", "2026-12-01"}, []string{"ledger", "restore", task, "--date", date}
	sealed := &bed{t: t, dir: t.TempDir(), ids: whole.ids}
	sealed.must(os.CopyFS(sealed.dir, os.DirFS(whole.dir)))
	sealed.run([]int{0}, archive...)
	for _, move := range []struct {
		name string
		from *bed
		args []string
	}{{"archive", whole, archive}, {"restore", sealed, restore}} {
		for _, call := range []string{"pwrite64", "write", "fsync,fdatasync", "renameat,mkdirat,unlinkat,flock,openat"} {
			t.Run(move.name+"/"+call, func(t *testing.T) {
				t.Parallel()
				kills := 0
				for n, survived := 1, 0; survived < 2 && !t.Failed(); n++ {
					b := &bed{t: t, dir: t.TempDir(), ids: whole.ids}
					b.must(os.CopyFS(b.dir, os.DirFS(move.from.dir)))
					p := b.start(needStrace(t, fmt.Sprintf("%s:signal=KILL:when=%d", call, n)), []string{"GOMAXPROCS=1"}, move.args...)
					if p.code() != -1 {
						b.expect(p, 0)
						survived++
					} else {
						kills++
					}
					done := b.size("effects")
					b.plain(0)
					b.run([]int{0}, move.args...)
					b.plain(0)
					if b.size("effects") != done {
						t.Errorf("killed at %d: something was done again", n)
					}
					b.run([]int{0}, restore...)
					if now := b.everything(); now != before {
						t.Errorf("killed at %d: the ledger was\n%s\nand is\n%s", n, before, now)
					}
				}
				if t.Logf("killed %d times", kills); kills == 0 {
					t.Error("it was never killed")
				}
			})
		}
	}
}
