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

// killedAtEachCall kills a command at its n-th system call, for each n and each
// kind of call that leaves something, in copies of a bed.
func killedAtEachCall(t *testing.T, from *bed, args []string, then func(b *bed, n int)) {
	for _, call := range []string{"pwrite64", "write", "fsync,fdatasync", "renameat,mkdirat,unlinkat,linkat,flock,openat"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			kills := 0
			for n, survived := 1, 0; survived < 2 && !t.Failed(); n++ {
				b := &bed{t: t, dir: t.TempDir(), ids: from.ids}
				b.must(os.CopyFS(b.dir, os.DirFS(from.dir)))
				p := b.start(needStrace(t, fmt.Sprintf("%s:signal=KILL:when=%d", call, n)), []string{"GOMAXPROCS=1"}, args...)
				if p.code() != -1 {
					b.expect(p, 0)
					survived++
				} else {
					kills++
				}
				then(b, n)
			}
			if t.Logf("killed %d times", kills); kills == 0 {
				t.Error("it was never killed")
			}
		})
	}
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
		t.Run(move.name, func(t *testing.T) {
			killedAtEachCall(t, move.from, move.args, func(b *bed, n int) {
				done := b.size("effects")
				b.plain(0)
				b.run([]int{0}, move.args...)
				b.plain(0)
				if b.size("effects") != done {
					b.t.Errorf("killed at %d: something was done again", n)
				}
				b.run([]int{0}, restore...)
				if now := b.everything(); now != before {
					b.t.Errorf("killed at %d: the ledger was\n%s\nand is\n%s", n, before, now)
				}
			})
		})
	}
}

// TestABackupThatComesBackKilledAtAnySystemCallRepeatsNothing walks over the
// system calls of a restore of a backup, made before the last records were
// done: killed at the n-th, there is the old ledger or the restored one, and
// the same command makes an end of it.
func TestABackupThatComesBackKilledAtAnySystemCallRepeatsNothing(t *testing.T) {
	needStrace(t)
	whole := newBed(t, 6, "retry: {attempts: 1}")
	whole.run([]int{0, 1, 3}, "run", task, "--date", date, "--limit", "3")
	whole.run([]int{0}, "ledger", "backup", "backup.db")
	whole.plain(0)
	done := whole.size("effects")
	restore := []string{"ledger", "restore-backup", "backup.db"}
	killedAtEachCall(t, whole, restore, func(b *bed, n int) {
		b.run([]int{0, 3}, "run", task, "--date", date)
		b.run([]int{0}, restore...)
		b.run([]int{3}, "run", task, "--date", date)
		if b.size("effects") != done {
			b.t.Errorf("killed at %d: something was done again", n)
		}
		doubts := b.run([]int{0}, "ledger", "ls", "--status", "in_doubt", "-o", "jsonl").stdout()
		if n := strings.Count(doubts, "\n"); n != 3 {
			b.t.Errorf("%d records are in doubt, want 3:\n%s", n, doubts)
		}
	})
}
