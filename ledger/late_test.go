package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestACertainOutcomeOfTheNewestAttemptSettlesItsRecord(t *testing.T) { // case 76
	checking := Claim(doubted(DetailUnknown), Check, "r2")
	absent := doubted(DetailAbsent, func(e *Entry) { e.Status, e.Fence = Pending, 6 })
	rerun := func(p Policy) Entry {
		e, err := Rerun(doubted(DetailUnknown), Decision{Insist: true}, p)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	next := func(e Entry) int64 { return e.Fence + 1 }
	for _, c := range []struct {
		name string
		e    Entry
		r    Report
		want state
	}{
		{"in doubt, it succeeded", doubted(DetailUnknown), late(Succeeded), state{Done, DetailLate, 1, 6, time.Time{}}},
		{"in doubt, it failed", doubted(DetailUnknown), late(FailedAttempt), state{Pending, "", 1, 6, noon.Add(5 * time.Second)}},
		{"in doubt, its last attempt failed", doubted(DetailUnknown, func(e *Entry) { e.Attempts = 3 }), late(FailedAttempt), state{Failed, "", 3, 6, time.Time{}}},
		{"in doubt, it failed for good", doubted(DetailUnclear), late(FailedForGood), state{Failed, "", 1, 6, time.Time{}}},
		{"in doubt, it asked for later", doubted(DetailUnknown), late(AskedLater, func(r *Report) { r.RetryAfter = 20 * time.Second }), state{Pending, DetailLater, 0, 6, noon.Add(21 * time.Second)}},
		{"partial, not compensated yet", doubted(DetailPartial), late(Succeeded), state{Done, DetailLate, 1, 6, time.Time{}}},
		{"being checked, it succeeded", checking, late(Succeeded), state{Done, DetailLate, 1, next(checking), time.Time{}}},
		{"being checked, it failed", checking, late(FailedAttempt), state{Pending, "", 1, next(checking), noon.Add(5 * time.Second)}},
		{"the check said absent, and was wrong", absent, late(Succeeded), state{Done, DetailLate, 1, 7, time.Time{}}},
		{"rerun, to be asked", rerun(checked), late(Succeeded), state{Done, DetailLate, 0, 7, time.Time{}}},
		{"rerun, to be repeated", rerun(plain), late(Succeeded), state{Done, DetailLate, 0, 7, time.Time{}}},
		{"rerun, it failed", rerun(plain), late(FailedAttempt), state{Pending, "", 0, 7, noon.Add(5 * time.Second)}},
		{"rerun, it asked for later", rerun(checked), late(AskedLater, func(r *Report) { r.RetryAfter = 20 * time.Second }), state{Pending, DetailLater, 0, 7, noon.Add(21 * time.Second)}},
		{"rerun, being asked", Claim(rerun(checked), Check, "r2"), late(Succeeded), state{Done, DetailLate, 0, 8, time.Time{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, fate := Settle(c.e, c.r, checked, noon, 0.5)
			if d := cmp.Diff(c.want, stateOf(got)); d != "" || fate != Moved {
				t.Errorf("fate %d (-want +got):\n%s", fate, d)
			}
			if got.AskFirst {
				t.Error("its doubt is over, and it would still be asked")
			}
			if again, fate := Settle(got, c.r, checked, noon.Add(time.Hour), 0.5); fate == Moved || !cmp.Equal(got, again) {
				t.Errorf("the same report again: fate %d\n%s", fate, cmp.Diff(got, again))
			}
			if c.e.Status == Running { // the check that was under way answers in the end
				if after, fate := Settle(got, report(c.e, Absent), checked, noon, 0.5); fate != TooLate || !cmp.Equal(got, after) {
					t.Errorf("the answer of the check whose claim has ended: fate %d, %s", fate, cmp.Diff(got, after))
				}
			}
		})
	}
}

func TestAnOutcomeThatComesTooLateChangesNothing(t *testing.T) {
	settled := func(e Entry, o Outcome, p Policy) Entry {
		n, _ := Settle(e, report(e, o), p, noon, 0.5)
		return n
	}
	mark := func(as Status) Entry {
		e, err := Mark(doubted(DetailUnknown), as, Decision{Actor: "li", Reason: "seen"}, noon)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	again := func(e Entry, p Policy) Entry {
		n, err := Rerun(e, Decision{Insist: true, Generation: 1}, p)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	unclear := func(e Entry) Entry { return settled(Claim(e, Check, "r2"), Unclear, asksOnce) }
	act := record(func(e *Entry) { e.Status, e.Fence, e.RunID = Running, 5, "r1" })
	failed, done, forLater := settled(act, FailedForGood, plain), settled(act, Succeeded, plain), settled(act, AskedLater, plain)
	repeating := Claim(doubted(DetailUnknown), Act, "r2")
	undoing := Claim(doubted(DetailPartial), Compensate, "r2")
	for _, c := range []struct {
		name string
		e    Entry
		r    Report
		want Fate
	}{
		{"a newer attempt runs", repeating, late(Succeeded), TooLate},
		{"a newer attempt has failed", settled(repeating, FailedAttempt, plain), late(Succeeded), TooLate},
		{"a newer attempt is in doubt too", settled(repeating, Unknown, plain), late(Succeeded), TooLate},
		{"a compensation runs", undoing, late(Succeeded), TooLate},
		{"it has been compensated", settled(undoing, Succeeded, undone), late(Succeeded), TooLate},
		{"its compensation failed", settled(undoing, FailedAttempt, undone), late(Succeeded), TooLate},
		{"it is checked after its compensation", Claim(settled(undoing, Succeeded, undone), Check, "r2"), late(Succeeded), TooLate},
		{"a check has found the effect", settled(Claim(doubted(DetailUnknown), Check, "r2"), Applied, checked), late(FailedAttempt), TooLate},
		{"a check has found no effect, attempts used up", settled(Claim(doubted(DetailUnknown, func(e *Entry) { e.Attempts = 3 }), Check, "r2"), Absent, checked), late(FailedAttempt), TooLate},
		{"an operator has marked it failed", mark(Failed), late(Succeeded), TooLate},
		{"an operator has skipped it", mark(Skipped), late(Succeeded), TooLate},
		{"marked failed and rerun", again(mark(Failed), checked), late(Succeeded), TooLate},
		{"what is known of a failure", failed, late(FailedForGood), Stale},
		{"what is known of a success", done, late(Succeeded), Stale},
		{"a success of an older generation", again(done, checked), late(Succeeded), TooLate},
		{"a success of an older generation, being checked", Claim(again(done, asksOnce), Check, "r2"), late(Succeeded), TooLate},
		{"a success of an older generation, in doubt", unclear(again(done, asksOnce)), late(Succeeded), TooLate},
		{"a failure before the rerun, being checked", Claim(again(failed, asksOnce), Check, "r2"), late(FailedForGood), TooLate},
		{"a failure before the rerun, in doubt", unclear(again(failed, asksOnce)), late(FailedForGood), TooLate},
		{"a retry-later that is known, in doubt", unclear(forLater), late(AskedLater), TooLate},
		{"nothing certain", doubted(DetailUnknown), late(Unknown), Stale},
		{"nothing certain of an older attempt", repeating, late(Unknown), Stale},
		{"not started, said of what has started", doubted(DetailUnknown), late(NotStarted), Stale},
		{"no attempt of any fence", record(func(e *Entry) { e.Status, e.Detail, e.Fence = InDoubt, DetailUnclear, 5 }), Report{RecordID: 1, Outcome: Succeeded}, TooLate},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, fate := Settle(c.e, c.r, checked, noon, 0.5)
			if d := cmp.Diff(c.e, got); d != "" || fate != c.want {
				t.Errorf("fate %d, want %d (-was +is):\n%s", fate, c.want, d)
			}
		})
	}
}

func TestARetryLaterEndsAfterItsLimit(t *testing.T) {
	e := record()
	minutes := func(o Outcome, m int) {
		t.Helper()
		now := noon.Add(time.Duration(m) * time.Minute)
		e = Claim(e, Act, "r1")
		e, _ = Settle(e, report(e, o, func(r *Report) { r.RetryAfter = time.Minute }), plain, now, 0)
	}
	minutes(AskedLater, 0)
	minutes(AskedLater, 59)
	if e.Status != Pending || e.Attempts != 0 {
		t.Fatalf("within the limit: %s, %d attempts", e.Status, e.Attempts)
	}
	minutes(FailedAttempt, 59) // ends the row
	minutes(AskedLater, 60)
	minutes(AskedLater, 119)
	if e.Status != Pending || e.Attempts != 1 {
		t.Fatalf("within the limit of a new row: %s, %d attempts", e.Status, e.Attempts)
	}
	minutes(AskedLater, 120)
	if e.Status != Failed || e.Detail != DetailLater || e.Attempts != 1 {
		t.Errorf("beyond the limit: %s %s, %d attempts", e.Status, e.Detail, e.Attempts)
	}
}

func TestARecordThatWasCutOffIsStartedAlone(t *testing.T) {
	cut := func(r *Report) { r.CutOff = true }
	for ph, from := range map[Phase]Entry{Act: record(), Check: doubted(DetailUnknown), Compensate: doubted(DetailPartial)} {
		e := Claim(from, ph, "r1")
		e, _ = Settle(e, report(e, Unknown, cut), undone, noon, 0)
		if !Alone(e) {
			t.Errorf("its %s was cut off with its runner, and it may run beside others", ph)
		}
		e = Claim(e, Act, "r2")
		if e, _ = Settle(e, report(e, NotStarted), undone, noon, 0); !Alone(e) {
			t.Errorf("after %s: a claim that was never used has cleared it", ph)
		}
		e = Claim(e, Act, "r3")
		if e, _ = Settle(e, report(e, FailedAttempt), undone, noon, 0); Alone(e) {
			t.Errorf("after %s: an attempt has ended well, and it is still alone", ph)
		}
	}
}

func TestACheckIsAskedAgainForEachNewDoubt(t *testing.T) {
	e := Claim(record(), Check, "r1") // check first
	e, _ = Settle(e, report(e, Absent), asksOnce, noon, 0)
	e = Claim(e, Judge(e, asksOnce, noon, true).Do.Phase(), "r1")
	e, _ = Settle(e, report(e, Unknown), asksOnce, noon, 0)
	if do := Judge(e, asksOnce, noon, true).Do; do != StartCheck {
		t.Errorf("its attempt timed out, and the check is not asked in this run: %d", do)
	}
}
