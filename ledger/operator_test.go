package ledger

import (
	"errors"
	"testing"
	"time"
)

func TestRerunFollowsTheStatusTable(t *testing.T) {
	yes, no := Decision{Insist: true, Generation: 1}, Decision{Generation: 1}
	in := func(s Status, fns ...func(*Entry)) Entry {
		return record(append([]func(*Entry){func(e *Entry) {
			e.Status, e.Attempts, e.Fence, e.StartedAt, e.Error = s, 2, 5, noon, "exit 1"
			e.NotBefore, e.Delay, e.LaterSince = noon.Add(time.Hour), time.Hour, noon
		}}, fns...)...)
	}
	skippedInDoubt, err := Mark(doubted(DetailUnknown), Skipped, yes, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		e        Entry
		d        Decision
		p        Policy
		asks     bool
		busy     bool
		refused  bool
		gen      int
		askFirst bool
	}{
		{"failed", in(Failed), no, plain, false, false, false, 1, false},
		{"failed, with a check", in(Failed), no, checked, false, false, false, 1, false},
		{"skipped", in(Skipped), no, plain, false, false, false, 1, false},
		{"running", in(Running), yes, plain, false, true, true, 0, false},
		{"done", in(Done), no, plain, true, false, true, 0, false},
		{"done, insisted", in(Done), yes, plain, false, false, false, 2, false},
		{"done in another generation", in(Done, func(e *Entry) { e.Generation = 2 }), yes, plain, false, false, true, 0, false},
		{"in doubt", doubted(DetailUnknown), no, plain, true, false, true, 0, false},
		{"in doubt, insisted", doubted(DetailUnknown), yes, plain, false, false, false, 1, false},
		{"in doubt, repeated", doubted(DetailUnknown), no, repeated, false, false, false, 1, false},
		{"in doubt, checked", doubted(DetailUnknown), no, checked, false, false, false, 1, true},
		{"in doubt, checked, insisted", doubted(DetailUnknown), yes, both, false, false, false, 1, true},
		{"skipped while in doubt", skippedInDoubt, no, plain, true, false, true, 0, false},
		{"skipped while in doubt, insisted", skippedInDoubt, yes, plain, false, false, false, 1, false},
		{"skipped while in doubt, checked", skippedInDoubt, no, checked, false, false, false, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Rerun(c.e, c.d, c.p)
			if c.refused {
				var r *RefusedError
				if !errors.As(err, &r) || r.Asks != c.asks || r.Busy != c.busy || r.Status != c.e.Status || got.Status != c.e.Status || got.Fence != c.e.Fence {
					t.Fatalf("%+v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != Pending || got.Attempts != 0 || got.Fence != c.e.Fence+1 || got.Generation != c.gen || got.AskFirst != c.askFirst || !due(got, noon) || !got.LaterSince.IsZero() {
				t.Errorf("%+v", got)
			}
			if v := Judge(got, c.p, noon, false); c.askFirst && v.Do != StartCheck || !c.askFirst && v.Do != StartAct {
				t.Errorf("it is judged %d", v.Do)
			}
			if TakesPayload(got, false) {
				t.Error("it was started once, and would take another payload")
			}
		})
	}
}

func TestRerunOfAPendingRecordOnlyEndsItsWait(t *testing.T) {
	e := record(func(e *Entry) { e.Attempts, e.Fence, e.NotBefore, e.Delay = 2, 5, noon.Add(time.Hour), time.Hour })
	got, err := Rerun(e, Decision{}, plain)
	if err != nil || got.Fence != 5 || got.Attempts != 2 || Judge(got, plain, noon, false).Do != StartAct {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMarkSettlesWhatIsNotRunning(t *testing.T) {
	d := Decision{Actor: "li", Reason: "seen in the other system"}
	allowed := map[Status]bool{Pending: true, Failed: true, InDoubt: true}
	for _, from := range Statuses {
		for _, as := range Statuses {
			e := record(func(e *Entry) { e.Status, e.Attempts, e.Fence, e.RunID, e.AskFirst = from, 2, 5, "r1", from == Pending })
			got, err := Mark(e, as, d, noon)
			if want := allowed[from] && (as == Done || as == Skipped || as == Failed); want != (err == nil) {
				t.Errorf("%s as %s: %v", from, as, err)
				continue
			}
			var r *RefusedError
			switch {
			case err == nil:
				if got.Status != as || got.Detail != DetailMarked || got.Error != d.Reason || got.Fence != 6 || got.Attempts != 2 || !got.EndedAt.Equal(noon) || got.AskFirst {
					t.Errorf("%s as %s: %+v", from, as, got)
				}
			case !errors.As(err, &r) || r.Busy != (from == Running) || r.Asks || got.Status != from || got.Fence != 5:
				t.Errorf("%s as %s: %+v, %v", from, as, got, err)
			}
		}
	}
}

func TestOnlyARecordThatWasNeverStartedTakesAnotherPayload(t *testing.T) {
	for name, c := range map[string]struct {
		e    Entry
		want bool
	}{
		"planned":             {record(), true},
		"given back":          {record(func(e *Entry) { e.Fence = 1 }), true},
		"found absent":        {record(func(e *Entry) { e.Fence, e.Detail = 1, DetailAbsent }), true},
		"has failed once":     {record(func(e *Entry) { e.Attempts, e.StartedAt = 1, noon }), false},
		"has asked for later": {record(func(e *Entry) { e.Detail, e.StartedAt = DetailLater, noon }), false},
		"running":             {record(func(e *Entry) { e.Status = Running }), false},
		"in doubt":            {doubted(DetailUnknown), false},
		"done":                {record(func(e *Entry) { e.Status = Done }), false},
	} {
		if got := TakesPayload(c.e, false); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
