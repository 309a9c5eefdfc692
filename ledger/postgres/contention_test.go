package postgres

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"runner/internal/dbtest"
	"runner/ledger"
)

// patientDatabase is a ledger whose server finds no deadlock before a lock
// takes too long: whoever comes into one fails.
func patientDatabase(t *testing.T) (*Store, string) {
	t.Helper()
	at := dbtest.Postgres(t)
	dbtest.Exec(t, at, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''60s''', current_database()); END $$")
	return openAt(t, at, Options{Create: true}), at
}

// partner is a run that shares a batch with others.
type partner struct {
	led  *ledger.Ledger
	run  ledger.Run
	held map[int64]ledger.Entry
	got  []ledger.Entry
}

var patiently = ledger.Policy{Attempts: 3, MaxLater: time.Hour}

func begin(t *testing.T, s *Store, id string, claims []int64) *partner {
	t.Helper()
	p := &partner{led: ledger.New(s), held: map[int64]ledger.Entry{}}
	p.run = ledger.Run{ID: id, TaskName: task, ExecuteDate: date, StartedAt: p.led.Now(), Lease: time.Minute}
	must(t, p.led.Begin(ctx, &p.run, false))
	out, err := p.led.Work(ctx, ledger.Work{Run: p.run, Policy: patiently, Candidates: claims, Max: len(claims)})
	must(t, err)
	p.got = out.Claimed
	for _, e := range p.got {
		p.held[e.ID] = e
	}
	return p
}

// settle settles a claim, and looks at other records.
func (p *partner) settle(e ledger.Entry, others []int64) error {
	now := p.led.Now()
	_, err := p.led.Work(ctx, ledger.Work{Run: p.run, Policy: patiently, Held: p.held, Candidates: others, Max: 1, Reports: []ledger.Report{
		{RecordID: e.ID, Fence: e.Fence, RunID: p.run.ID, Outcome: ledger.Succeeded, StartedAt: now, EndedAt: now},
	}})
	delete(p.held, e.ID)
	return err
}

// At the end of a batch each run looks at what the others hold, and settles
// what it holds itself.
func TestRunsThatLookAtEachOthersClaimsDontWaitForEachOther(t *testing.T) {
	s, at := patientDatabase(t)
	var keys []string
	for i := range 60 {
		keys = append(keys, fmt.Sprintf("k%04d", i))
	}
	_, list := planned(t, s, keys...)
	var ids [2][]int64
	for i, e := range list {
		ids[i%2] = append(ids[i%2], e.ID)
	}
	partners := []*partner{begin(t, s, "run-0", ids[0]), begin(t, openAt(t, at, Options{}), "run-1", ids[1])}
	var wg sync.WaitGroup
	for i, p := range partners {
		wg.Go(func() {
			for _, e := range p.got {
				if err := p.settle(e, ids[1-i]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, e := range entries(t, s) {
		if e.Status != ledger.Done {
			t.Errorf("%s is %s", e.BizID, e.Status)
		}
	}
}

// Marks come to a record that a run has locked, and wait for it without the
// batch, which the run needs to commit.
func TestAMarkBesideARunHoldsNobodyUp(t *testing.T) {
	s, at := patientDatabase(t)
	_, list := planned(t, s, "a", "b")
	p := begin(t, s, "run-0", nil)
	other := ledger.New(openAt(t, at, Options{}))
	var once sync.Once
	var wg sync.WaitGroup
	asked := func(int64) bool { // in the middle of the run's transaction
		once.Do(func() {
			wg.Go(func() {
				_, err := other.Mark(ctx, []int64{list[0].ID}, ledger.Skipped, ledger.Decision{Reason: "x", Actor: "me"})
				if err != nil {
					t.Error(err)
				}
			})
			for waits := int64(0); waits == 0; {
				waits = number(t, at, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
			}
		})
		return false
	}
	_, err := p.led.Work(ctx, ledger.Work{Run: p.run, Policy: patiently, Candidates: []int64{list[0].ID}, Max: 1, Asked: asked})
	must(t, err)
	wg.Wait()
}

// A run that others have buried claims nothing more: nobody would look for it.
func TestABuriedRunClaimsNothing(t *testing.T) {
	s, _ := fresh(t)
	_, list := planned(t, s, "a", "b")
	p := begin(t, s, "run-0", []int64{list[0].ID})
	if did, err := s.Condemn(ctx, p.run.ID, true); err != nil || !did {
		t.Fatal(did, err)
	}
	out, err := p.led.Work(ctx, ledger.Work{Run: p.run, Candidates: []int64{list[1].ID}, Max: 1})
	unusable(t, err, "others have taken over")
	if len(out.Claimed) > 0 {
		t.Errorf("it claimed %s", out.Claimed[0].BizID)
	}
	must(t, p.settle(p.got[0], nil)) // outcomes are never refused
}

// A run whose claims may be committed any moment isn't dead yet, whatever its
// lease says.
func TestARunThatClaimsAtThisMomentIsNotCondemned(t *testing.T) {
	s, at := fresh(t)
	_, list := planned(t, s, "a")
	p := begin(t, s, "run-0", nil)
	other := openAt(t, at, Options{})
	condemned := func() bool {
		did, err := other.Condemn(ctx, p.run.ID, true)
		must(t, err)
		return did
	}
	update(t, s, func(tx ledger.Tx) error {
		_, free, _, err := tx.Lock(p.run, []int64{list[0].ID})
		if err != nil {
			return err
		}
		if condemned() {
			t.Error("it was condemned")
		}
		return claim(tx, free[0], p.run.ID)
	})
	if !condemned() {
		t.Error("it isn't condemned after its claim")
	}
	if got := entries(t, s)[0]; got.Status != ledger.Running {
		t.Errorf("the record is %s", got.Status)
	}
}

// After a crash the server gives the number of a lost transaction to another
// one, which may commit.
func TestACommittedNumberProvesNothingWithoutATrace(t *testing.T) {
	s, _ := fresh(t)
	_, list := planned(t, s, "a", "b", "c")
	var lost, foreign opened
	traces := make([]step, 4)
	do := func(o *opened, fn func(*tx) error) {
		t.Helper()
		place, err := s.writer.Take(ctx)
		must(t, err)
		defer s.writer.Put(place)
		c, err := place.ready(ctx)
		must(t, err)
		must(t, s.try(ctx, c, o, func(x ledger.Tx) error { return fn(x.(*tx)) }))
	}
	undone := func(i int, fn func(*tx) error) {
		t.Helper()
		err := s.Update(ctx, func(x ledger.Tx) error {
			if err := fn(x.(*tx)); err != nil {
				return err
			}
			traces[i] = x.(*tx).trace
			return errSilent
		})
		if err != errSilent {
			t.Fatal(err)
		}
	}
	undone(0, func(x *tx) error { return claim(x, list[0], "run-1") })
	undone(1, func(x *tx) error {
		return x.PutRun(&ledger.Run{ID: "run-9", TaskName: task, ExecuteDate: date})
	})
	undone(2, func(x *tx) error { _, err := x.Insert(list[0].BatchID, []ledger.Input{{BizID: "d"}}); return err })
	do(&foreign, func(x *tx) error { return claim(x, list[0], "run-2") })
	do(&lost, func(x *tx) error {
		traced := claim(x, list[1], "run-1")
		traces[3] = x.trace
		return traced
	})
	place, err := s.writer.Take(ctx)
	must(t, err)
	defer s.writer.Put(place)
	for i, want := range []bool{false, false, false, true} {
		at := foreign
		if i == 3 {
			at = lost
		}
		done, err := s.whether(place, at, traces[i])
		must(t, err)
		if done != want {
			t.Errorf("transaction %d is said to have taken effect: %v", i, done)
		}
	}
	if !slices.ContainsFunc(entries(t, s), func(e ledger.Entry) bool { return e.RunID == "run-2" }) {
		t.Error("the foreign claim is gone")
	}
}
