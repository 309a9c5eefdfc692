//go:build unix

package sqlaction

import (
	"context"
	"fmt"
	"testing"

	"runner/runner"
)

const day = "2026-11-28" // that of attempts

const untold = "guard: there is none, but those of 2026-11-28 were removed when it was archived: whether this was done can't be told"

// A ledger that doesn't know what was done asks the guards. Where some were
// removed, that one is absent says nothing.
func TestWhereGuardsWereRemovedAnAbsentOneSaysNothing(t *testing.T) {
	onEach(t, func(_ *testing.T, b *bed) {
		o := Options{Statements: []string{"INSERT INTO booking (account) VALUES (:biz_id)"}, Guard: true}
		for _, id := range []string{"a", "b"} {
			b.wantResult(b.prepared(o), attempt(id), "succeeded applied")
		}
		g := b.guardsOf("")
		b.same("how many", b.remove(g, day, "a"), int64(1))
		for _, batch := range []int{1, 10} {
			o.Batch = batch
			again := b.prepared(o)
			var all []runner.Attempt
			for _, id := range []string{"a", "b", "c"} {
				all = append(all, attempt(id))
			}
			newer, other := attempt("a"), attempt("a")
			newer.Generation, newer.BizID = 3, fmt.Sprint("newer", batch) // above all that were removed
			other.ExecuteDate, other.BizID = "2026-11-29", fmt.Sprint("other", batch)
			all = append(all, newer, other)
			var got []string
			for _, r := range actAll(again, all) {
				got = append(got, short(r))
			}
			b.same("results", got, []string{"unknown " + untold, "succeeded already", "unknown " + untold, "succeeded applied", "succeeded applied"})
			b.want("SELECT count(*) FROM booking", 2+2*(1+batch/10))
		}
		c := NewGuardCheck(b.probeOptions())
		b.actions = append(b.actions, c)
		for id, want := range map[string]string{"a": "unclear " + untold, "b": "applied", "c": "unclear " + untold} {
			b.wantResult(c, attempt(id), want)
		}
		at := attempt("a")
		at.TaskName = "Task"
		b.wantResult(c, at, "absent")
		at = attempt("a")
		at.ExecuteDate = "2026-11-27"
		b.wantResult(c, at, "absent")
	})
}

// What a restore puts back is what was removed: after it all is as it was.
func TestGuardsThatWereRemovedCanBePutBack(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		ctx := context.Background()
		b.guard(guardKey{"", "task", "a", day, 1}, guardKey{"", "task", "a", day, 2}, guardKey{"", "task", "b", day, 1})
		before := b.guards()
		g := b.guardsOf("")
		parts := [][]Effect{{{"a", 2}}, {{"b", 1}}}
		for _, seal := range []string{"one", "two"} {
			for _, part := range parts {
				_, err := g.Remove(ctx, day, seal, part)
				b.must(err)
			}
			if seal == "one" {
				b.guard(guardKey{"", "task", "b", day, 1})
			}
		}
		ask := func(want string) {
			t.Helper()
			c := NewGuardCheck(b.probeOptions())
			defer c.Close()
			b.wantResult(c, attempt("c"), want)
		}
		ask("unclear " + untold)
		for range 2 { // the second try after one that was cut off
			for _, part := range parts {
				b.must(g.PutBack(ctx, day, part))
			}
			b.must(g.AllBack(ctx, day, "two"))
		}
		b.same("guards", b.guards(), before)
		ask("unclear " + untold) // by the other seal
		b.must(g.AllBack(ctx, day, "one"))
		ask("absent")
		b.want("SELECT count(*) FROM "+GuardTable, 3)
	})
}

// A date none of whose guards were there isn't marked.
func TestNoGuardsAreNoneThatWereRemoved(t *testing.T) {
	onEach(t, func(_ *testing.T, b *bed) {
		b.guard(guardKey{"", "task", "a", day, 3})
		g := b.guardsOf("")
		b.same("how many", b.remove(g, day, "a", "b"), int64(0))
		b.want("SELECT count(*) FROM "+GuardTable, 1)
	})
}
