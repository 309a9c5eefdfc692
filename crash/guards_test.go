//go:build linux

package crash

import (
	"database/sql"
	"slices"
	"testing"
)

const guardedTask = "tasks:\n  " + task + `:
    records: {lines: ids}
    sql: {database: "sqlite:shop.db", statement: "INSERT INTO booking VALUES (:biz_id)"}
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

// TestARemovalOfGuardsKilledAtAnySystemCallGoesOn walks over the system calls
// of an archive that removes guards: killed at the n-th, nothing is done again,
// and the same command makes an end of it.
func TestARemovalOfGuardsKilledAtAnySystemCallGoesOn(t *testing.T) {
	needStrace(t)
	whole := newBed(t, 6)
	whole.write("runner.yaml", guardedTask)
	whole.shopDB(func(db *sql.DB) error {
		_, err := db.Exec("CREATE TABLE booking (id TEXT)")
		return err
	})
	whole.plain(0)
	archive := []string{"ledger", "archive", "--before", "2026-12-01", "--guards", "-o", "json"}
	killedAtEachCall(t, whole, archive, func(b *bed, n int) {
		b.plain(0)
		b.run([]int{0}, archive...)
		got := []int{b.rowsOf("runner_effects"), b.rowsOf("booking")}
		if again := b.run([]int{0}, archive...).stdout(); !slices.Equal(got, []int{0, len(b.ids)}) || again != "[]\n" {
			b.t.Errorf("killed at %d: guards and effects are %v, and there is still to do: %s", n, got, again)
		}
	})
}
