package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
)

// story tells a record's story, a line an attempt.
func (b *bench) story(id int64) []string {
	b.t.Helper()
	_, story, err := b.Story(b.t.Context(), b.get(id).Key)
	b.must(err)
	var lines []string
	for _, a := range story {
		s := fmt.Sprintf("%d %s %d.%d %s %s", a.Fence, a.Phase, a.Generation, a.Number, a.Status, a.Detail)
		if a.Late != "" {
			s += " late:" + a.Late + " " + a.LateDetail
		}
		lines = append(lines, s+" by "+a.RunID+a.Actor)
	}
	return lines
}

func (b *bench) tells(id int64, want ...string) {
	b.t.Helper()
	if d := cmp.Diff(want, b.story(id)); d != "" {
		b.t.Errorf("(-want +got):\n%s", d)
	}
}

func (b *bench) rerun(p ledger.Policy, id int64) {
	b.t.Helper()
	refused, err := b.Rerun(b.t.Context(), []int64{id}, ledger.Decision{Actor: "li", Reason: "again", Insist: true, Generation: b.get(id).Generation}, p)
	b.must(errors.Join(append(refused, err)...))
}

func gave(result string) func(*ledger.Report) {
	return func(r *ledger.Report) { r.Result = result }
}

func TestAStoryTellsEachAttemptOnce(t *testing.T) {
	b := newBench(t)
	id := b.plan("a")[0]
	b.ended("r1", plain, id, ledger.NotStarted) // nothing has happened
	b.ended("r1", plain, id, ledger.FailedAttempt)
	b.now = b.now.Add(plain.MaxBackoff)
	b.ended("r2", plain, id, ledger.Succeeded, gave("voucher 7"))
	b.tells(id, "2 act 1.1 pending  by r1", "3 act 1.2 done applied by r2")
	if e := b.get(id); e.Result != "voucher 7" || e.Attempts != 2 {
		t.Errorf("%+v", e)
	}
	if _, _, err := b.Story(t.Context(), ledger.Key{TaskName: task, BizID: "b", ExecuteDate: date}); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("of no record: %v", err)
	}
}

func TestDoingADoneRecordAgainKeepsItsFirstSuccess(t *testing.T) {
	b := newBench(t)
	id := b.plan("a")[0]
	b.ended("r1", plain, id, ledger.Succeeded, gave("voucher 7"))
	first := []string{"1 act 1.1 done applied by r1", "2 operator 2.0 pending  by li"}
	b.rerun(plain, id)
	b.tells(id, first...)
	b.ended("r2", plain, id, ledger.Succeeded, gave("voucher 8"))
	b.tells(id, append(first, "3 act 2.1 done applied by r2")...)
	_, story, err := b.Story(t.Context(), b.get(id).Key)
	b.must(err)
	if story[0].Result != "voucher 7" || story[2].Result != "voucher 8" {
		t.Errorf("results %q and %q", story[0].Result, story[2].Result)
	}
}

func TestALateSuccessSettlesADoubtAndStaysInTheStory(t *testing.T) {
	b := newBench(t)
	id := b.plan("a")[0]
	claim := b.claim("r1", checked, id)[0]
	b.settle(checked, end(claim, ledger.Unknown))
	check := b.claim("r2", checked, id)[0]
	if got := b.settle(checked, end(claim, ledger.Succeeded, gave("voucher 7")))[0]; got.Fate != ledger.Moved || got.Entry.Status != ledger.Done {
		t.Fatalf("%+v", got)
	}
	if got := b.settle(checked, end(check, ledger.Absent))[0]; got.Fate != ledger.TooLate {
		t.Errorf("the answer of the check: %+v", got)
	}
	if e := b.get(id); e.Status != ledger.Done || e.Detail != ledger.DetailLate || e.Result != "voucher 7" || e.Attempts != 1 {
		t.Errorf("%+v", e)
	}
	b.tells(id, "1 act 1.1 in_doubt unknown late:succeeded voucher 7 by r1", "2 check 1.1 pending  late:absent  by r2")
}

func TestAnOutcomeThatWasOvertakenGoesToTheStory(t *testing.T) {
	repeat := ledger.Policy{Attempts: 3, Idempotent: true}
	b := newBench(t)
	id := b.plan("a")[0]
	claim := b.claim("r1", repeat, id)[0]
	b.settle(repeat, end(claim, ledger.Unknown))
	newer := b.claim("r2", repeat, id)[0]
	for range 2 {
		b.settle(repeat, end(claim, ledger.FailedForGood, func(r *ledger.Report) { r.Error = "exit 9" }))
	}
	b.settle(repeat, end(newer, ledger.Succeeded))
	b.tells(id, "1 act 1.1 in_doubt unknown late:failed_for_good exit 9 by r1", "2 act 1.2 done applied by r2")
}

// The claim that overtook the outcome was never used: the record is where it
// was, and the outcome counts.
func TestAnOvertakenOutcomeCountsWhenTheNewerClaimIsGivenBack(t *testing.T) {
	repeat := ledger.Policy{Attempts: 3, Idempotent: true}
	b := newBench(t)
	id := b.plan("a")[0]
	claim := b.claim("r1", repeat, id)[0]
	b.settle(repeat, end(claim, ledger.Unknown))
	newer := b.claim("r2", repeat, id)[0]
	b.settle(repeat, end(claim, ledger.Succeeded, gave("voucher 7")))
	if e := b.get(id); e.Status != ledger.Running {
		t.Fatalf("%+v", e)
	}
	b.settle(repeat, end(newer, ledger.NotStarted))
	if e := b.get(id); e.Status != ledger.Done || e.Detail != ledger.DetailLate || e.Result != "voucher 7" || e.Error != "" || e.Attempts != 1 {
		t.Errorf("%+v", e)
	}
}

// A run died after it had settled this: its journal is replayed.
func TestAnOutcomeThatIsKnownIsNotLate(t *testing.T) {
	b := newBench(t)
	ids := b.plan("failed before it succeeded", "done again")
	first := b.claim("r1", plain, ids[0])[0]
	b.settle(plain, end(first, ledger.FailedAttempt))
	b.now = b.now.Add(plain.MaxBackoff)
	b.ended("r1", plain, ids[0], ledger.Succeeded)
	old := b.claim("r1", plain, ids[1])[0]
	b.settle(plain, end(old, ledger.Succeeded))
	b.rerun(plain, ids[1])
	again, err := b.Replay(t.Context(), []ledger.Report{end(first, ledger.FailedAttempt), end(old, ledger.Succeeded)}, plain)
	b.must(err)
	for _, s := range again {
		if s.Fate != ledger.Stale {
			t.Errorf("%s: fate %d", s.Entry.BizID, s.Fate)
		}
	}
	b.tells(ids[0], "1 act 1.1 pending  by r1", "2 act 1.2 done applied by r1")
	b.tells(ids[1], "1 act 1.1 done applied by r1", "2 operator 2.0 pending  by li")
}

// A check had said absent, and a newer claim was never used.
func TestAnOvertakenOutcomeCountsBeforeTheNextStart(t *testing.T) {
	b := newBench(t)
	id := b.plan("a")[0]
	b.now = b.now.Add(plain.MaxBackoff)
	claim := b.claim("r1", checked, id)[0]
	b.settle(checked, end(claim, ledger.Unknown))
	b.ended("r2", checked, id, ledger.Absent)
	newer := b.claim("r2", checked, id)[0]
	b.settle(checked, end(claim, ledger.Succeeded))
	b.settle(checked, end(newer, ledger.NotStarted))
	if e := b.get(id); e.Status != ledger.Done || e.Detail != ledger.DetailLate {
		t.Errorf("%+v", e)
	}
}

func TestTheStoryOfACompensation(t *testing.T) {
	undo := checked
	undo.Compensate = true
	b := newBench(t)
	id := b.plan("a")[0]
	b.ended("r1", undo, id, ledger.Unknown)
	b.ended("r1", undo, id, ledger.Partial)
	b.ended("r1", undo, id, ledger.Succeeded)
	b.ended("r1", undo, id, ledger.Absent)
	b.ended("r1", undo, id, ledger.Succeeded)
	b.tells(id, "1 act 1.1 in_doubt unknown by r1", "2 check 1.1 in_doubt partial by r1", "3 compensate 1.1 in_doubt compensated by r1",
		"4 check 1.1 pending absent by r1", "5 act 1.2 done applied by r1")
}

func TestAnEffectThatACheckFoundIsToldByTheCheck(t *testing.T) {
	first := checked
	first.CheckFirst = true
	b := newBench(t)
	id := b.plan("a")[0]
	b.ended("r1", first, id, ledger.Applied)
	b.tells(id, "1 check 1.0 done already by r1")
	b.rerun(first, id)
	b.tells(id, "1 check 1.0 done already by r1", "2 operator 2.0 pending  by li")
}
