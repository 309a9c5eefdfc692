//go:build linux

package crash

import (
	"database/sql"
	"slices"
	"testing"
)

const guardedTask = "tasks:\n  " + task + `:
    records: {lines: ids}
    sql: {database: "sqlite://${CRASH_BED}/shop.db", statement: "INSERT INTO booking VALUES (:biz_id)"}
`

// shopDB does something with the business database of a bed.
func (b *bed) shopDB(fn func(db *sql.DB) error) {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.path("shop.db"))
	b.must(err)
	defer db.Close()
	b.must(fn(db))
}

func (b *bed) rowsOf(table string) (n int) {
	b.t.Helper()
	b.shopDB(func(db *sql.DB) error { return db.QueryRow("SELECT count(*) FROM " + table).Scan(&n) })
	return n
}

// guardedBed is a bed whose task is done, with a guard each.
func guardedBed(t *testing.T) *bed {
	t.Helper()
	needStrace(t)
	b := newBed(t, 6)
	b.write("runner.yaml", guardedTask)
	b.shopDB(func(db *sql.DB) error {
		_, err := db.Exec("CREATE TABLE booking (id TEXT)")
		return err
	})
	b.plain(0)
	return b
}

var archiveGuards = []string{"ledger", "archive", "--before", "2026-12-01", "--guards", "-o", "json"}

// wantGuards fails unless there are so many guards, so many rows that say that
// some were removed, and all effects once.
func (b *bed) wantGuards(n, guards, removals int) {
	b.t.Helper()
	got := []int{b.rowsOf("runner_effects WHERE generation > 0"), b.rowsOf("runner_effects WHERE generation < 0"), b.rowsOf("booking")}
	if !slices.Equal(got, []int{guards, removals, len(b.ids)}) {
		b.t.Errorf("killed at %d: guards, removals and effects are %v", n, got)
	}
}

// TestARemovalOfGuardsKilledAtAnySystemCallGoesOn walks over the system calls
// of an archive that removes guards: killed at the n-th, nothing is done again,
// and the same command makes an end of it.
func TestARemovalOfGuardsKilledAtAnySystemCallGoesOn(t *testing.T) {
	killedAtEachCall(t, guardedBed(t), archiveGuards, func(b *bed, n int) {
		b.plain(0)
		b.run([]int{0}, archiveGuards...)
		b.wantGuards(n, 0, 1)
		if again := b.run([]int{0}, archiveGuards...).stdout(); again != "[]\n" {
			b.t.Errorf("killed at %d: there is still to do: %s", n, again)
		}
	})
}

// TestARestoreKilledAtAnySystemCallPutsGuardsBack does so with the restore after
// it. Whether that goes on or is given up, all guards are there, or none.
func TestARestoreKilledAtAnySystemCallPutsGuardsBack(t *testing.T) {
	whole := guardedBed(t)
	whole.run([]int{0}, archiveGuards...)
	restore := []string{"ledger", "restore", task, "--date", date}
	killedAtEachCall(t, whole, restore, func(b *bed, n int) {
		b.plain(0)
		if n%2 == 0 {
			b.run([]int{0}, archiveGuards...)
			b.wantGuards(n, 0, 1)
		}
		b.run([]int{0}, restore...)
		b.wantGuards(n, len(b.ids), 0)
		b.plain(0)
	})
}
