package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
)

func TestAPlanOfWhatIsKnownWritesNothing(t *testing.T) {
	b := newBench(t)
	ids := b.plan("a", "b", "c")
	b.ended("r1", plain, ids[0], ledger.Succeeded)
	b.ended("r1", plain, ids[1], ledger.FailedForGood)
	before := b.bytes()
	got, err := b.Plan(t.Context(), b.run.BatchID, inputs("a", "b", "c", "a"), ledger.PlanOptions{})
	b.must(err)
	want := []ledger.Planned{{ID: ids[0], Status: ledger.Done}, {ID: ids[1], Status: ledger.Failed}, {ID: ids[2]}, {ID: ids[0], Status: ledger.Done}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	_, err = b.Preview(t.Context(), b.run.BatchID, inputs("a", "new"))
	b.must(err)
	if !cmp.Equal(before, b.bytes()) {
		t.Error("the ledger's file has changed")
	}
}

func TestAPlanThatExpectsNewRecordsFindsTheSame(t *testing.T) {
	for name, in := range map[string][]ledger.Input{
		"all new":      inputs("x", "y", "z"),
		"one is known": inputs("x", "a", "z"),
		"all known":    inputs("b", "a"),
		"one twice":    inputs("x", "y", "x"),
		"changed":      {{BizID: "x"}, {BizID: "a", Payload: []byte(`{"id":"changed"}`)}},
	} {
		var got [2][]ledger.Planned
		var entries [2][]ledger.Entry
		for i := range got {
			b := newBench(t)
			b.plan("a", "b")
			var err error
			got[i], err = b.Plan(t.Context(), b.run.BatchID, in, ledger.PlanOptions{New: i == 1})
			b.must(err)
			entries[i], err = list(b)
			b.must(err)
		}
		if d := cmp.Diff(got[0], got[1]); d != "" {
			t.Errorf("%s (-without +with):\n%s", name, d)
		}
		if d := cmp.Diff(entries[0], entries[1]); d != "" {
			t.Errorf("%s, in the ledger (-without +with):\n%s", name, d)
		}
	}
}

func list(b *bench) (all []ledger.Entry, err error) {
	err = b.Store().View(b.t.Context(), func(r ledger.Reader) (err error) {
		all, err = r.List(ledger.Query{})
		return err
	})
	return all, err
}

func TestAChangedPayloadIsTakenOnlyBeforeTheFirstStart(t *testing.T) {
	b := newBench(t)
	starts := map[string]func(id int64){
		"planned":     func(int64) {},
		"given back":  func(id int64) { b.ended("r1", plain, id, ledger.NotStarted) },
		"running":     func(id int64) { b.claim("r1", plain, id) },
		"failed once": func(id int64) { b.ended("r1", plain, id, ledger.FailedAttempt) },
		"later": func(id int64) {
			b.ended("r1", plain, id, ledger.AskedLater)
			b.now = b.now.Add(time.Minute) // the others are not to wait for it
		},
		"in doubt": func(id int64) { b.ended("r1", plain, id, ledger.Unknown) },
		"done":     func(id int64) { b.ended("r1", plain, id, ledger.Succeeded) },
		"rerun": func(id int64) {
			b.ended("r1", plain, id, ledger.FailedForGood)
			refused, err := b.Rerun(t.Context(), []int64{id}, ledger.Decision{}, plain)
			b.must(errors.Join(append(refused, err)...))
		},
	}
	takes := map[string]bool{"planned": true, "given back": true}
	for name, start := range starts {
		id := b.plan(name)[0]
		start(id)
		was := b.get(id)
		changed := []ledger.Input{{BizID: name, Payload: []byte(`{"id":"changed"}`)}}
		for _, plan := range []func(context.Context, int64, []ledger.Input) ([]ledger.Planned, error){b.Preview, func(ctx context.Context, batch int64, in []ledger.Input) ([]ledger.Planned, error) {
			return b.Plan(ctx, batch, in, ledger.PlanOptions{})
		}} {
			got, err := plan(t.Context(), b.run.BatchID, changed)
			b.must(err)
			if len(got) != 1 || got[0].ID != id || !got[0].Changed || got[0].New {
				t.Errorf("%s: %+v is not counted as changed", name, got)
			}
		}
		want := was
		if takes[name] {
			want.Payload = changed[0].Payload
		}
		if d := cmp.Diff(want, b.get(id)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestRepeatsWithinOneChunkAreOneRecord(t *testing.T) {
	b := newBench(t)
	got := b.plan("a", "b", "a", "a")
	if got[0] == 0 || got[0] != got[2] || got[0] != got[3] || got[0] == got[1] {
		t.Errorf("numbers %v", got)
	}
	if n := b.batch().Counts; n.Total() != 2 || n[ledger.Pending] != 2 {
		t.Errorf("counts %v", n)
	}
}

func TestADeadPlanIsSuperseded(t *testing.T) {
	b := newBench(t)
	dead := b.begin("dead", true)
	if got := b.batch().OpenPlanRun; got != "dead" {
		t.Fatalf("planned by %q", got)
	}
	next := b.begin("next", true)
	b.must(b.EndPlan(t.Context(), dead, true)) // it was alive after all: the newer mark is not its own
	if got := b.batch().OpenPlanRun; got != "next" {
		t.Errorf("planned by %q, want next", got)
	}
	other := b.begin("rerun", false)
	b.must(b.EndPlan(t.Context(), other, true))
	if got := b.batch().OpenPlanRun; got != "next" {
		t.Errorf("a run without a plan has ended that of another: %q", got)
	}
	b.must(b.EndPlan(t.Context(), next, true))
	if got := b.batch().OpenPlanRun; got != "" {
		t.Errorf("still planned by %q", got)
	}
}

func TestSettlingAndClaimingIsOneTransaction(t *testing.T) {
	b := newBench(t)
	ids := b.plan("a", "b", "c")
	first := b.claim("r1", plain, ids[0])[0]
	out := b.work(ledger.Work{Run: b.as("r1"), Policy: plain, Reports: []ledger.Report{end(first, ledger.FailedForGood)}, Candidates: ids, Max: 1})
	if len(out.Settled) != 1 || out.Settled[0].Entry.Status != ledger.Failed || out.Settled[0].Fate != ledger.Moved {
		t.Errorf("settled %+v", out.Settled)
	}
	if len(out.Claimed) != 1 || out.Claimed[0].ID != ids[1] || !cmp.Equal(out.Claimed[0], b.get(ids[1])) {
		t.Errorf("claimed %+v", out.Claimed)
	}
	if len(out.Left) != 1 || out.Left[0].Entry.ID != ids[0] || out.Left[0].Do != ledger.Nothing {
		t.Errorf("left %+v", out.Left)
	}
	if d := cmp.Diff([]int64{ids[2]}, out.Rest); d != "" {
		t.Errorf("rest: %s", d)
	}
	if d := cmp.Diff(ledger.Counts{1, 1, 0, 1, 0, 0}, b.batch().Counts); d != "" {
		t.Errorf("counts: %s", d)
	}
}

func TestOneRecordIsClaimedByOneRun(t *testing.T) {
	b := newBench(t)
	id := b.plan("a")[0]
	first := b.work(ledger.Work{Run: b.as("r1"), Policy: plain, Candidates: []int64{id, id}, Max: 2})
	if len(first.Claimed) != 1 || len(first.Left) != 1 || first.Left[0].Do != ledger.Busy {
		t.Errorf("the same record twice: %+v", first)
	}
	second := b.work(ledger.Work{Run: b.as("r2"), Policy: plain, Candidates: []int64{id, 999}, Max: 2})
	if len(second.Claimed) != 0 || len(second.Left) != 1 || second.Left[0].Do != ledger.Busy || second.Left[0].Entry.RunID != "r1" {
		t.Errorf("claimed by another run: %+v", second)
	}
}

func TestAStaleReportChangesNothing(t *testing.T) {
	b := newBench(t)
	id := b.plan("a")[0]
	old := b.claim("r1", plain, id)[0]
	b.settle(plain, end(old, ledger.NotStarted))
	held := b.claim("r2", plain, id)[0]
	for o, want := range map[ledger.Outcome]ledger.Fate{ledger.Succeeded: ledger.TooLate, ledger.Unknown: ledger.Stale, ledger.NotStarted: ledger.Stale} {
		if got := b.settle(plain, end(old, o))[0]; got.Fate != want {
			t.Errorf("%s: fate %d, want %d", o, got.Fate, want)
		}
		if d := cmp.Diff(held, b.get(id)); d != "" {
			t.Errorf("%s by a stale holder: %s", o, d)
		}
	}
	if got := b.settle(plain, ledger.Report{RecordID: 999, Fence: 1, Outcome: ledger.Succeeded})[0]; got.Fate != ledger.Stale {
		t.Errorf("of a record that there isn't: %+v", got)
	}
}

func TestASuspectIsClaimedAlone(t *testing.T) {
	b := newBench(t)
	ids := b.plan("a", "b")
	b.ended("r1", ledger.Policy{Attempts: 3, Idempotent: true}, ids[0], ledger.Unknown, func(r *ledger.Report) { r.CutOff = true })
	w := ledger.Work{Run: b.as("r2"), Policy: ledger.Policy{Attempts: 3, Idempotent: true}, Candidates: ids, Max: 2}
	out := b.work(w)
	if len(out.Claimed) != 1 || out.Claimed[0].ID != ids[1] || len(out.Left) != 1 {
		t.Errorf("among others: %+v", out)
	}
	w.Alone = true
	if out = b.work(w); len(out.Claimed) != 1 || out.Claimed[0].ID != ids[0] {
		t.Errorf("alone: %+v", out)
	}
}

func TestADeadRunIsSettledInPages(t *testing.T) {
	b := newBench(t)
	var names []string
	for i := range 1201 {
		names = append(names, fmt.Sprintf("u%04d", i))
	}
	ids := b.plan(names...)
	b.claim("r1", plain, ids...)
	var reports []ledger.Report
	for e, err := range b.Claims(t.Context(), b.run) {
		b.must(err)
		reports = append(reports, end(e, ledger.Unknown))
	}
	for range 2 { // a recovery that was cut off is made once more
		_, err := b.Replay(t.Context(), reports, plain)
		b.must(err)
	}
	b.must(b.Bury(t.Context(), b.run))
	if n := b.batch().Counts; n[ledger.InDoubt] != 1201 || n.Total() != 1201 {
		t.Errorf("counts %v", n)
	}
	if open, err := b.OpenRuns(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("open runs %+v, %v", open, err)
	}
}

func TestWhatIsNotCommittedIsNotToldAsSettled(t *testing.T) {
	b := newBench(t)
	e := b.claim("r1", plain, b.plan("a")...)[0]
	l := ledger.New(uncommitted{b.Store()})
	settled, err := l.Replay(t.Context(), []ledger.Report{end(e, ledger.Succeeded)}, plain)
	if !errors.Is(err, errUndone) || len(settled) != 0 {
		t.Errorf("settled %+v, %v", settled, err)
	}
}

func TestACandidateThatStandsTwiceIsClaimedOnce(t *testing.T) {
	b := newBench(t)
	e := b.claim("r1", plain, b.plan("a")...)[0]
	out := b.work(ledger.Work{Run: b.run, Policy: plain, Reports: []ledger.Report{end(e, ledger.NotStarted)}, Candidates: []int64{e.ID, e.ID}, Max: 2})
	if len(out.Claimed) != 1 || len(out.Left) != 1 || out.Left[0].Do != ledger.Busy || out.Settled[0].Fate != ledger.Moved {
		t.Errorf("%+v", out)
	}
}
