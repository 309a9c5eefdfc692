package postgres

import (
	"testing"

	"runner/ledger"
)

func TestABatchThatShardsPlanIsWholeWhenAllHave(t *testing.T) {
	s, _ := fresh(t)
	b := ledger.New(s)
	batch := func() (got ledger.Batch) {
		t.Helper()
		must(t, s.View(ctx, func(r ledger.Reader) (err error) {
			got, err = r.Batch(task, date)
			return err
		}))
		return got
	}
	open := func(id string, s ledger.Shard) ledger.Run {
		t.Helper()
		r := ledger.Run{ID: id, TaskName: task, ExecuteDate: date, StartedAt: b.Now(), Shard: s}
		must(t, b.Begin(ctx, &r, true))
		return r
	}
	shards := func(want string) {
		t.Helper()
		if got := batch(); got.Unplanned() != want || got.Complete() != (want == "" && got.OpenPlanRun == "") {
			t.Errorf("%q is said to be unplanned (complete: %v), want %q", got.Unplanned(), got.Complete(), want)
		}
	}
	one := open("one", ledger.Shard{Index: 1, Count: 3})
	three := open("three", ledger.Shard{Index: 3, Count: 3})
	must(t, b.EndPlan(ctx, one, true))
	shards("2, 3 of 3")
	must(t, b.EndPlan(ctx, three, false)) // it left the batch to others
	shards("2, 3 of 3")
	if got := batch().Planning(); len(got) != 0 {
		t.Errorf("%v are planning", got)
	}
	again := open("again", ledger.Shard{Index: 1, Count: 3})
	must(t, b.EndPlan(ctx, again, true))
	shards("2, 3 of 3")
	half := open("half", ledger.Shard{Index: 1, Count: 2}) // another division of it
	must(t, b.EndPlan(ctx, half, true))
	shards("2 of 2")
	whole := open("whole", ledger.Shard{})
	shards("2 of 2")
	must(t, b.EndPlan(ctx, whole, true))
	shards("")
	late := open("late", ledger.Shard{Index: 2, Count: 3}) // all of it is there already
	must(t, b.EndPlan(ctx, late, true))
	shards("")
}
