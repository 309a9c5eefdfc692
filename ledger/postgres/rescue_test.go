package postgres

import (
	"testing"

	"runner/ledger"
)

// Case 62: whoever rescues what a dead run held works on what it has read, and
// meanwhile the run, which isn't dead after all, has settled it; or it has
// been settled and started again.
func TestCase62ARescueThatReadTooEarlyOverwritesNothing(t *testing.T) {
	s, at := fresh(t)
	slow := ledger.New(s)
	rescuer := ledger.New(openAt(t, at, Options{}))
	var policy ledger.Policy
	_, e := planned(t, s, "a", "b", "c")
	run := ledger.Run{ID: "slow", TaskName: task, ExecuteDate: date, StartedAt: slow.Now()}
	must(t, slow.Begin(ctx, &run, false))
	work := func(led *ledger.Ledger, w ledger.Work) ledger.Worked {
		t.Helper()
		w.Run, w.Policy = run, policy
		out, err := led.Work(ctx, w)
		must(t, err)
		return out
	}
	claimed := work(slow, ledger.Work{Candidates: []int64{e[0].ID, e[1].ID, e[2].ID}, Max: 3}).Claimed
	if len(claimed) != 3 {
		t.Fatalf("claimed %d, want 3", len(claimed))
	}

	var lost []ledger.Report // as the rescuer makes them of what it reads now
	for e, err := range rescuer.Claims(ctx, run) {
		must(t, err)
		lost = append(lost, ledger.Report{RecordID: e.ID, Fence: e.Fence, Phase: e.Phase, RunID: run.ID, Outcome: ledger.Unknown, CutOff: true, EndedAt: slow.Now()})
	}
	held := map[int64]ledger.Entry{}
	for _, e := range claimed {
		held[e.ID] = e
	}
	report := func(e ledger.Entry, o ledger.Outcome) ledger.Report {
		return ledger.Report{RecordID: e.ID, Fence: e.Fence, Phase: e.Phase, RunID: run.ID, Outcome: o, EndedAt: slow.Now()}
	}
	work(slow, ledger.Work{Held: held, Reports: []ledger.Report{report(claimed[0], ledger.Succeeded), report(claimed[1], ledger.NotStarted)}})
	again := work(slow, ledger.Work{Candidates: []int64{claimed[1].ID}, Max: 1}).Claimed
	if len(again) != 1 || again[0].Fence <= claimed[1].Fence {
		t.Fatalf("claimed again: %+v", again)
	}

	if _, err := rescuer.Replay(ctx, lost, policy); err != nil {
		t.Fatal(err)
	}
	for i, want := range []ledger.Status{ledger.Done, ledger.Running, ledger.InDoubt} {
		if got := entries(t, s)[i]; got.Status != want {
			t.Errorf("%s is %v, want %v", got.BizID, got.Status, want)
		}
	}
	// And the other way round: what is certain settles the doubt.
	work(slow, ledger.Work{Held: held, Reports: []ledger.Report{report(claimed[2], ledger.Succeeded)}})
	if got := entries(t, s)[2]; got.Status != ledger.Done {
		t.Errorf("%s is %v, want done", got.BizID, got.Status)
	}
}
