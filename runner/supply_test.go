package runner

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"runner/ledger"
)

func TestASupplyGivesEachRecordOnce(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 1000, 20_007} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprint(n, shared), func(t *testing.T) {
				ids := roaring64.New()
				for i := range n {
					ids.Add(uint64(7 + 3*i))
				}
				s := newSupply(ids)
				if shared {
					s.share("a run")
				}
				var got []int64
				for i := 1; s.more(); i++ {
					if shared && i%3 == 0 && len(s.block) == 0 {
						if no := s.open(); s.putOff(no) {
							continue
						}
					}
					part := s.take(i % 1500)
					if len(part) > i%1500 {
						t.Fatalf("%d records instead of at most %d", len(part), i%1500)
					}
					got = append(got, part...)
				}
				if rising := slices.IsSorted(got); rising == shared && n > blocksMin {
					t.Errorf("shared %v, rising %v", shared, rising)
				}
				slices.Sort(got)
				if got = slices.Compact(got); len(got) != n || uint64(n) != ids.GetCardinality() {
					t.Errorf("%d records of %d", len(got), n)
				}
			})
		}
	}
}

func TestRunsTakeASharedBatchInDifferentOrders(t *testing.T) {
	ids := roaring64.New()
	ids.AddRange(1, 1000)
	a, b := newSupply(ids), newSupply(ids)
	a.share("one")
	b.share("another")
	if slices.Equal(a.order, b.order) {
		t.Errorf("both: %v", a.order)
	}
}

func TestARunThatJoinsCountsWhatOthersHaveDone(t *testing.T) {
	b := newBench(t)
	second, _ := b.open()
	const n = 500
	p := quick()
	p.Idempotent = true
	o := b.options(ids(n), p, nil)
	o.Task.Jobs = 1
	started, release := make(chan struct{}), make(chan struct{})
	o.Task.Action = action(func(_ context.Context, at Attempt) Result {
		if at.BizID == ids(n)[n/2].BizID {
			close(started)
			<-release
		}
		return Result{Outcome: ledger.Succeeded}
	})
	first := b.start(o)
	<-started
	other := b.options(ids(n), p, succeed)
	other.Ledger = second
	other.Observe = func(e Event) {
		if e.Planned != nil {
			close(release) // it has seen the other alive, and what is done at its start
		}
	}
	s := b.run(other)
	f := <-first
	if s.Result != Complete || s.Counts[ledger.Done] != n || f.Counts[ledger.Done] != n {
		t.Errorf("the second: %+v; the first: %+v", s, f)
	}
	if s.Executed+f.Executed != n {
		t.Errorf("executed %d and %d of %d", f.Executed, s.Executed, n)
	}
}
