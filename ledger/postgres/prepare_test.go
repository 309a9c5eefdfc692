package postgres

import (
	"testing"

	"runner/internal/dbtest"
	"runner/ledger"
)

// touches changes a record n times, and tells how many statements the session
// has prepared at the end.
func touches(t *testing.T, s *Store, e ledger.Entry, n int) (prepared int) {
	t.Helper()
	for range n {
		update(t, s, func(x ledger.Tx) error {
			if err := touch(x, e); err != nil {
				return err
			}
			return x.(*tx).do(step{sql: "SELECT count(*)::int FROM pg_prepared_statements", rows: into(&prepared)})
		})
	}
	return prepared
}

func TestWhatIsRepeatedIsPreparedWhereNobodyElseHasTheSession(t *testing.T) {
	s, at := fresh(t)
	_, list := planned(t, s, "a")
	direct := openAt(t, at, Options{})
	if n := touches(t, direct, list[0], repeated-1); n != 0 {
		t.Errorf("%d statements were prepared before they were repeated", n)
	}
	if n := touches(t, direct, list[0], repeated); n < 4 { // the opening, the read, the write, the counters
		t.Errorf("%d statements were prepared, want 4 or more", n)
	}
	pooled := openAt(t, dbtest.PgBouncer(t, at), Options{})
	if n := touches(t, pooled, list[0], 2*repeated); n != 0 {
		t.Errorf("behind a pooler %d statements were prepared", n)
	}
}

// A pooler that names the true process at first would hand out another session
// later.
func TestASessionThatForgetsWhatWasPreparedIsGivenUp(t *testing.T) {
	s, _ := fresh(t)
	_, list := planned(t, s, "a")
	touches(t, s, list[0], 2*repeated)
	before := entries(t, s)[0].Fence
	place, err := s.writer.Take(ctx)
	must(t, err)
	_, err = place.c.c.PgConn().Exec(ctx, "DEALLOCATE ALL").ReadAll()
	s.writer.Put(place)
	must(t, err)
	if n := touches(t, s, list[0], 2*repeated); n != 0 {
		t.Errorf("%d statements were prepared again", n)
	}
	if after := entries(t, s)[0].Fence; after != before+2*repeated {
		t.Errorf("the record was changed %d times, want %d", after-before, 2*repeated)
	}
}

// pgx forgets the types of a statement that fails, and the settings that lead to
// the tables are those of a transaction.
func TestAFailedStatementIsNewAgainUnlessItIsPrepared(t *testing.T) {
	s, _ := fresh(t)
	_, list := planned(t, s, "a")
	for i := range 6 * repeated {
		first := true
		update(t, s, func(tx ledger.Tx) error {
			now, err := tx.Get([]int64{list[0].ID})
			if err != nil {
				return err
			}
			old, n := now[0], now[0]
			n.Fence++
			if first && i%2 == 0 { // nobody has read it so
				old.Fence += 7
			}
			first = false
			return tx.Swap([]ledger.Change{{Old: old, New: n}})
		})
	}
	place, err := s.writer.Take(ctx)
	must(t, err)
	defer s.writer.Put(place)
	var n int
	must(t, place.c.do(ctx, step{sql: "SELECT count(*)::int FROM pg_prepared_statements", rows: into(&n)}))
	if n != len(place.c.prepared) || n == 0 {
		t.Errorf("%d statements are prepared, and %d are counted", n, len(place.c.prepared))
	}
}
