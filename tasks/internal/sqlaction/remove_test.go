//go:build unix

package sqlaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// guardsOf opens the guards of a namespace's task "task".
func (b *bed) guardsOf(namespace string) *Guards {
	b.t.Helper()
	g, err := OpenGuards(context.Background(), GuardOptions{
		Address: func() (string, error) { return b.address, nil }, Namespace: namespace, Task: "task",
	})
	b.must(err)
	b.actions = append(b.actions, g)
	return g
}

func (b *bed) remove(g *Guards, date string, ids ...string) int64 {
	b.t.Helper()
	n, err := g.Remove(context.Background(), date, "seal", effects(2, ids...))
	b.must(err)
	return n
}

// effects are those of ids at a generation.
func effects(generation int, ids ...string) (all []Effect) {
	for _, id := range ids {
		all = append(all, Effect{id, generation})
	}
	return all
}

// guard inserts guards, and commits.
func (b *bed) guard(keys ...guardKey) {
	b.t.Helper()
	b.must(b.guardOpen(keys...).commit(context.Background()))
}

// guardOpen inserts guards in a transaction that is still open.
func (b *bed) guardOpen(keys ...guardKey) session {
	b.t.Helper()
	ctx := context.Background()
	db, err := newDatabase(b.address, "")
	b.must(err)
	s, err := db.open(ctx)
	b.must(err)
	b.actions = append(b.actions, closer(func() error {
		_ = s.close() // takes back what is open
		return db.close()
	}))
	b.must(s.makeGuards(ctx, false))
	b.must(s.begin(ctx, false))
	for part := range slices.Chunk(keys, 1000) {
		_, err = s.insertGuards(ctx, part)
		b.must(err)
	}
	return s
}

type closer func() error

func (c closer) Close() error { return c() }

func (b *bed) guards() (all []string) {
	b.t.Helper()
	rows, err := b.db.Query("SELECT " + guardColumns + " FROM " + GuardTable + " WHERE generation > 0")
	b.must(err)
	defer rows.Close()
	for rows.Next() {
		var k guardKey
		b.must(rows.Scan(&k.namespace, &k.task, &k.bizID, &k.date, &k.generation))
		all = append(all, fmt.Sprint(k))
	}
	b.must(rows.Err())
	slices.Sort(all)
	return all
}

func TestGuardsAreRemovedOfExactlyTheRecordsNamed(t *testing.T) {
	onEach(t, func(_ *testing.T, b *bed) {
		const day = "2026-08-11"
		var gone, stay []guardKey
		ids := []string{"u1", "U1", "u1 ", "é", "券\t<&>\u2028", `a"b\'c`, "0010", "-"}
		for _, id := range ids {
			gone = append(gone, guardKey{"", "task", id, day, 1}, guardKey{"", "task", id, day, 2})
			stay = append(stay, guardKey{"other", "task", id, day, 1}, guardKey{"", "Task", id, day, 1}, guardKey{"", "task", id, "2026-08-12", 1})
		}
		for _, id := range ids { // what was done again since
			stay = append(stay, guardKey{"", "task", id, day, 3})
		}
		for _, id := range []string{"u2", "10", "e", "E\u0301", "券"} {
			stay = append(stay, guardKey{"", "task", id, day, 1})
		}
		for _, k := range slices.Concat(gone, stay) { // those of one statement are of one namespace and task
			b.guard(k)
		}
		g := b.guardsOf("")
		b.same("how many of ids that differ a little", b.remove(g, day, "U2", "u2 ", "010", "e\u0301", ""), int64(0))
		b.same("how many", b.remove(g, day, ids...), int64(len(gone)))
		var want []string
		for _, k := range stay {
			want = append(want, fmt.Sprint(k))
		}
		slices.Sort(want)
		b.same("what is left", b.guards(), want)
		b.same("how many the second time", b.remove(g, day, ids...), int64(0))
	})
}

func TestWhereThereIsNoTableOfGuardsNoneIsMade(t *testing.T) {
	onEach(t, func(_ *testing.T, b *bed) {
		b.same("how many", b.remove(b.guardsOf(""), "2026-08-11", "a"), int64(0))
		b.must(inTransaction(context.Background(), b.guardsOf("").pool.db, false, func(s session) error {
			there, err := s.hasGuards(context.Background())
			b.same("there is a table", there, false)
			return err
		}))
	})
}

// An action of the same records on another date, which has its guard and isn't
// at its commit yet, waits for no removal and is not waited for.
func TestARemovalAndActionsOfOtherDatesDoNotWaitForEachOther(t *testing.T) {
	for _, kind := range []string{"postgres", "mysql"} { // SQLite has one writer
		t.Run(kind, func(t *testing.T) {
			b := newBed(t, kind)
			ctx := context.Background()
			var old, now []guardKey
			var ids []string
			for i := range 3000 {
				ids = append(ids, fmt.Sprintf("u%04d", i))
				old = append(old, guardKey{"", "task", ids[i], "2026-08-11", 1})
				now = append(now, guardKey{"", "task", ids[i], "2026-11-28", 1})
			}
			b.guard(old...)
			s := b.guardOpen(now...)
			g := b.guardsOf("")
			for part := range slices.Chunk(ids, GuardPart) {
				b.same("how many", b.remove(g, "2026-08-11", part...), int64(len(part)))
			}
			b.must(s.commit(ctx))
			b.want("SELECT count(*) FROM "+GuardTable+" WHERE generation > 0", len(now))
		})
	}
}

func TestARemovalThatIsCutOffGoesOn(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		b.guard(guardKey{"", "task", "a", "2026-08-11", 1})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		g := b.guardsOf("")
		if _, err := g.Remove(ctx, "2026-08-11", "seal", effects(1, "a")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		b.want("SELECT count(*) FROM "+GuardTable, 1)
		b.same("how many", b.remove(g, "2026-08-11", "a"), int64(1))
	})
}

func TestGuardsOfADatabaseThatCannotBeReached(t *testing.T) {
	for _, kind := range []string{"postgres", "mysql"} {
		t.Run(kind, func(t *testing.T) {
			b, p := proxied(t, kind)
			b.guard(guardKey{"", "task", "a", "2026-08-11", 1})
			g := b.guardsOf("")
			b.same("how many", b.remove(g, "2026-08-11", "b"), int64(0))
			p.Cut() // what is idle is dead: it is done on a new connection
			b.same("how many", b.remove(g, "2026-08-11", "a"), int64(1))
			p.SetDown(true)
			var c *ConnectError
			if _, err := OpenGuards(context.Background(), g.GuardOptions); !errors.As(err, &c) {
				t.Errorf("got %v", err)
			}
		})
	}
}
