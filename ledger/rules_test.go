package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	noon     = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	plain    = Policy{Attempts: 3, Backoff: 10 * time.Second, MaxBackoff: time.Minute, MaxLater: time.Hour, Timeout: time.Minute}
	checked  = with(plain, func(p *Policy) { p.Check = true })
	repeated = with(plain, func(p *Policy) { p.Idempotent = true })
	both     = with(checked, func(p *Policy) { p.Idempotent = true })
	undone   = with(checked, func(p *Policy) { p.Compensate = true })
	asksOnce = with(checked, func(p *Policy) { p.CheckFirst = true })
	patient  = with(checked, func(p *Policy) { p.CheckAfter = 30 * time.Second })
)

func with[T any](v T, fn func(*T)) T {
	fn(&v)
	return v
}

// record is a never-started record after the changes.
func record(fns ...func(*Entry)) Entry {
	e := Entry{ID: 1, BatchID: 1, Key: Key{"t", "a", "2026-11-28"}, Generation: 1}
	for _, fn := range fns {
		fn(&e)
	}
	return e
}

// doubted is a record whose first attempt, of fence 5, is in doubt.
func doubted(detail string, fns ...func(*Entry)) Entry {
	return record(append([]func(*Entry){func(e *Entry) {
		e.Status, e.Detail, e.Attempts, e.Fence, e.ActFence = InDoubt, detail, 1, 5, 5
		e.StartedAt, e.EndedAt, e.RunID = noon.Add(-time.Minute), noon, "r1"
	}}, fns...)...)
}

// report is what the holder of a claim says of it.
func report(e Entry, o Outcome, fns ...func(*Report)) Report {
	r := Report{RecordID: e.ID, Fence: e.Fence, Phase: e.Phase, RunID: e.RunID, Outcome: o, StartedAt: noon, EndedAt: noon.Add(time.Second)}
	for _, fn := range fns {
		fn(&r)
	}
	return r
}

// late is what is learned of the attempt of fence 5.
func late(o Outcome, fns ...func(*Report)) Report {
	return report(record(func(e *Entry) { e.Fence, e.RunID = 5, "r1" }), o, fns...)
}

// state is what the status table is about.
type state struct {
	Status    Status
	Detail    string
	Attempts  int
	Fence     int64
	NotBefore time.Time
}

func stateOf(e Entry) state { return state{e.Status, e.Detail, e.Attempts, e.Fence, e.NotBefore} }

func TestAClaimedRecordMovesAsTheStatusTableSays(t *testing.T) {
	half := 0.5
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	pending := func(attempts int) Entry { return record(func(e *Entry) { e.Attempts = attempts; e.Fence = 4 }) }
	started := func(attempts int) Entry {
		return with(pending(attempts), func(e *Entry) { e.EndedAt, e.StartedAt = noon, noon })
	}
	for _, c := range []struct {
		name string
		from Entry
		ph   Phase
		o    Outcome
		fn   func(*Report)
		p    Policy
		want state
	}{
		{"success", pending(0), Act, Succeeded, nil, plain, state{Done, DetailApplied, 1, 5, time.Time{}}},
		{"nothing to do", pending(0), Act, Succeeded, func(r *Report) { r.Detail = DetailNoop }, plain, state{Done, DetailNoop, 1, 5, time.Time{}}},
		{"the guard found it", pending(0), Act, Succeeded, func(r *Report) { r.Detail = DetailAlready }, plain, state{Done, DetailAlready, 1, 5, time.Time{}}},
		{"first failure", pending(0), Act, FailedAttempt, nil, plain, state{Pending, "", 1, 5, at(5 * time.Second)}},
		{"second failure", pending(1), Act, FailedAttempt, nil, plain, state{Pending, "", 2, 5, at(10 * time.Second)}},
		{"last failure", pending(2), Act, FailedAttempt, nil, plain, state{Failed, "", 3, 5, time.Time{}}},
		{"failed for good", pending(0), Act, FailedForGood, nil, plain, state{Failed, "", 1, 5, time.Time{}}},
		{"asked for later", pending(1), Act, AskedLater, func(r *Report) { r.RetryAfter = 20 * time.Second }, plain, state{Pending, DetailLater, 1, 5, at(21 * time.Second)}},
		{"never started", pending(1), Act, NotStarted, nil, plain, state{Pending, "", 1, 5, time.Time{}}},
		{"could not be started", pending(1), Act, NotStarted, func(r *Report) { r.RetryAfter = time.Second }, plain, state{Pending, "", 1, 5, at(time.Second)}},
		{"unknown", pending(0), Act, Unknown, nil, plain, state{InDoubt, DetailUnknown, 1, 5, time.Time{}}},
		{"unknown, to be asked", pending(0), Act, Unknown, nil, both, state{InDoubt, DetailUnknown, 1, 5, time.Time{}}},
		{"unknown, to be repeated", pending(0), Act, Unknown, nil, repeated, state{InDoubt, DetailUnknown, 1, 5, at(5 * time.Second)}},
		{"repeated and never started", doubted(DetailUnknown), Act, NotStarted, nil, repeated, state{InDoubt, DetailUnknown, 1, 6, time.Time{}}},
		{"repeated", doubted(DetailUnknown), Act, Succeeded, nil, repeated, state{Done, DetailApplied, 2, 6, time.Time{}}},

		{"check: applied", doubted(DetailUnknown), Check, Applied, nil, checked, state{Done, DetailAlready, 1, 6, time.Time{}}},
		{"check: absent", doubted(DetailUnknown), Check, Absent, nil, checked, state{Pending, DetailAbsent, 1, 6, time.Time{}}},
		{"check: absent, no attempts left", doubted(DetailUnknown, func(e *Entry) { e.Attempts = 3 }), Check, Absent, nil, checked, state{Failed, DetailAbsent, 3, 6, time.Time{}}},
		{"check: absent, too early", doubted(DetailUnknown), Check, Absent, nil, patient, state{InDoubt, DetailTooEarly, 1, 6, at(30 * time.Second)}},
		{"check: absent, by a clock set back", doubted(DetailUnknown, func(e *Entry) { e.EndedAt = at(time.Hour) }), Check, Absent, nil, patient, state{InDoubt, DetailTooEarly, 1, 6, at(30 * time.Second)}},
		{"check: absent is believed at once, the clock was set back", doubted(DetailUnknown, func(e *Entry) { e.EndedAt = at(time.Hour) }), Check, Absent, nil, checked, state{Pending, DetailAbsent, 1, 6, time.Time{}}},
		{"check: partial", doubted(DetailUnknown), Check, Partial, nil, checked, state{InDoubt, DetailPartial, 1, 6, time.Time{}}},
		{"check: can't tell", doubted(DetailUnknown), Check, Unclear, nil, checked, state{InDoubt, DetailUnclear, 1, 6, time.Time{}}},
		{"check: cut off", doubted(DetailUnknown), Check, Unknown, nil, checked, state{InDoubt, DetailUnclear, 1, 6, time.Time{}}},
		{"check: never started", doubted(DetailUnclear), Check, NotStarted, nil, checked, state{InDoubt, DetailUnclear, 1, 6, time.Time{}}},
		{"check first: applied", pending(0), Check, Applied, nil, asksOnce, state{Done, DetailAlready, 0, 5, time.Time{}}},
		{"check first: absent", pending(0), Check, Absent, nil, asksOnce, state{Pending, DetailAbsent, 0, 5, time.Time{}}},
		{"check first: absent is believed at once", started(0), Check, Absent, nil, with(patient, func(p *Policy) { p.CheckFirst = true }), state{Pending, DetailAbsent, 0, 5, time.Time{}}},
		{"check first: can't tell", pending(0), Check, Unclear, nil, asksOnce, state{InDoubt, DetailUnclear, 0, 5, time.Time{}}},
		{"check first: never started", pending(0), Check, NotStarted, nil, asksOnce, state{Pending, "", 0, 5, time.Time{}}},

		{"compensated", doubted(DetailPartial), Compensate, Succeeded, nil, undone, state{InDoubt, DetailCompensated, 1, 6, time.Time{}}},
		{"compensation failed", doubted(DetailPartial), Compensate, FailedAttempt, nil, undone, state{InDoubt, DetailPartial, 1, 6, time.Time{}}},
		{"compensation lost with its runner", doubted(DetailPartial), Compensate, Unknown, nil, undone, state{InDoubt, DetailPartial, 1, 6, time.Time{}}},
		{"compensation never started", doubted(DetailPartial), Compensate, NotStarted, nil, undone, state{InDoubt, DetailPartial, 1, 6, time.Time{}}},
		{"compensation could not be started", doubted(DetailPartial), Compensate, NotStarted, func(r *Report) { r.RetryAfter = time.Second }, undone, state{InDoubt, DetailPartial, 1, 6, at(time.Second)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			claimed := Claim(c.from, c.ph, "r2")
			if claimed.Status != Running || claimed.Fence != c.from.Fence+1 || claimed.Attempts != c.from.Attempts || claimed.RunID != "r2" {
				t.Fatalf("claimed: %+v", claimed)
			}
			r := report(claimed, c.o)
			if c.fn != nil {
				c.fn(&r)
			}
			got, fate := Settle(claimed, r, c.p, noon, half)
			if d := cmp.Diff(c.want, stateOf(got)); d != "" || fate != Moved {
				t.Errorf("fate %d (-want +got):\n%s", fate, d)
			}
			if again, fate := Settle(got, r, c.p, noon.Add(time.Minute), half); fate != Stale || !cmp.Equal(got, again) {
				t.Errorf("the same report again: fate %d\n%s", fate, cmp.Diff(got, again))
			}
			if got.Phase != Act {
				t.Errorf("it is still in phase %s", got.Phase)
			}
		})
	}
}

func TestEachRecordIsJudgedByItsStatusAndPolicy(t *testing.T) {
	wait := func(e *Entry) { e.NotBefore, e.Delay = noon.Add(time.Minute), time.Minute }
	far := func(e *Entry) { e.NotBefore, e.Delay = noon.Add(time.Hour), time.Minute }
	used := func(e *Entry) { e.Attempts = 3 }
	ask := func(e *Entry) { e.AskFirst = true }
	comp := func(e *Entry) { e.CompFence, e.Fence = 6, 6 }
	once := func(e *Entry) { e.Attempts = 1 }
	absent := func(e *Entry) { e.Detail = DetailAbsent }
	status := func(s Status) Entry { return record(func(e *Entry) { e.Status = s }) }
	undoneRepeated := with(undone, func(p *Policy) { p.Idempotent = true })
	for _, c := range []struct {
		name  string
		e     Entry
		p     Policy
		fresh Do // the check has not been asked in this run
		asked Do
	}{
		{"running", status(Running), both, Busy, Busy},
		{"done", status(Done), both, Nothing, Nothing},
		{"failed", status(Failed), both, Nothing, Nothing},
		{"skipped", status(Skipped), both, Nothing, Nothing},

		{"pending", record(), plain, StartAct, StartAct},
		{"pending, with a check", record(), checked, StartAct, StartAct},
		{"pending, not due", record(wait), plain, Wait, Wait},
		{"pending, the clock was set back", record(far), plain, StartAct, StartAct},
		{"pending, check first", record(), asksOnce, StartCheck, StartCheck},
		{"pending, check first found nothing", record(absent), asksOnce, StartAct, StartAct},
		{"pending, check first but it has failed once", record(once), asksOnce, StartAct, StartAct},
		{"pending, check first without a check", record(), with(plain, func(p *Policy) { p.CheckFirst = true }), StartAct, StartAct},
		{"pending, must be asked", record(ask), checked, StartCheck, StartCheck},
		{"pending, must be asked, not due", record(ask, wait), checked, Wait, Wait},
		{"pending, must be asked, the check is gone", record(ask), plain, Hold, Hold},
		{"pending, must be asked, may be repeated", record(ask), repeated, StartAct, StartAct},

		{"in doubt", doubted(DetailUnknown), plain, Hold, Hold},
		{"in doubt, not due, nobody can go on", doubted(DetailUnknown, wait), plain, Hold, Hold},
		{"in doubt, checked", doubted(DetailUnknown), checked, StartCheck, StartCheck},
		{"in doubt, no attempts left, checked", doubted(DetailUnknown, used), checked, StartCheck, StartCheck},
		{"in doubt, repeated", doubted(DetailUnknown), repeated, StartAct, StartAct},
		{"in doubt, repeated, not due", doubted(DetailUnknown, wait), repeated, Wait, Wait},
		{"in doubt, repeated, the clock was set back", doubted(DetailUnknown, far), repeated, StartAct, StartAct},
		{"in doubt, repeated, no attempts left", doubted(DetailUnknown, used), repeated, Hold, Hold},
		{"in doubt, both", doubted(DetailUnknown), both, StartCheck, StartCheck},
		{"too early", doubted(DetailTooEarly, wait), checked, Wait, Wait},
		{"no longer too early", doubted(DetailTooEarly), checked, StartCheck, StartCheck},
		{"can't tell", doubted(DetailUnclear), checked, StartCheck, Hold},
		{"can't tell, both", doubted(DetailUnclear), both, StartCheck, StartAct},
		{"can't tell, both, no attempts left", doubted(DetailUnclear, used), both, StartCheck, Hold},
		{"can't tell, the check is gone", doubted(DetailUnclear), plain, Hold, Hold},
		{"partial, nothing undoes it", doubted(DetailPartial), checked, StartCheck, Hold},
		{"partial, both, nothing undoes it", doubted(DetailPartial), both, StartCheck, Hold},
		{"partial", doubted(DetailPartial), undone, StartCompensate, StartCompensate},
		{"partial, repeated", doubted(DetailPartial), undoneRepeated, StartCompensate, StartCompensate},
		{"partial, no attempts left", doubted(DetailPartial, used), undone, StartCompensate, StartCompensate},
		{"partial, not due", doubted(DetailPartial, wait), undone, Wait, Wait},
		{"partial, found before a first attempt", doubted(DetailPartial, func(e *Entry) { e.ActFence, e.Attempts = 0, 0 }), undone, StartCompensate, StartCompensate},
		{"still partial after its compensation", doubted(DetailPartial, comp), undone, StartCheck, Hold},
		{"compensated", doubted(DetailCompensated, comp), undone, StartCheck, StartCheck},
	} {
		t.Run(c.name, func(t *testing.T) {
			for asked, want := range map[bool]Do{false: c.fresh, true: c.asked} {
				v := Judge(c.e, c.p, noon, asked)
				if v.Do != want {
					t.Errorf("asked %v: %d, want %d", asked, v.Do, want)
				}
				if (v.Do == Wait) != !v.Until.IsZero() {
					t.Errorf("asked %v: %d until %s", asked, v.Do, v.Until)
				}
			}
			if got := NeedsPerson(c.e, c.p, noon); got != (c.asked == Hold) {
				t.Errorf("needs a person: %v", got)
			}
		})
	}
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	for _, c := range []struct {
		attempt int
		rnd     float64
		want    time.Duration
	}{
		{0, 0.5, 5 * time.Second}, {1, 0, 0}, {1, 0.5, 5 * time.Second}, {2, 0.5, 10 * time.Second}, {3, 0.5, 20 * time.Second},
		{4, 0.5, 30 * time.Second}, {5000, 0.5, 30 * time.Second},
	} {
		if got := plain.backoff(c.attempt, c.rnd); got != c.want {
			t.Errorf("after attempt %d with %v: %s, want %s", c.attempt, c.rnd, got, c.want)
		}
	}
}
