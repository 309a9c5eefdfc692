package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"runner/ledger"
)

// What was done since a backup is not done again (case 82).
func TestARestoredLedgerPutsInDoubtWhatItCantKnow(t *testing.T) {
	for _, expectNew := range []bool{false, true} {
		b := newBench(t)
		ids := b.plan("done", "tried", "open", "running", "failed")
		b.ended("r1", plain, ids[0], ledger.Succeeded)
		b.ended("r1", plain, ids[1], ledger.FailedAttempt)
		b.claim("r1", plain, ids[3])
		b.ended("r1", plain, ids[4], ledger.FailedForGood)
		date := b.run.ExecuteDate
		n, err := b.GoBlind(t.Context(), ledger.Blind{From: date, To: date, BackupAt: b.now, RestoredAt: b.now})
		b.must(err)
		if n != 3 {
			t.Errorf("%d records were put in doubt, want 3", n)
		}
		why, err := b.BlindFor(t.Context(), date)
		b.must(err)
		for _, other := range []string{"2020-01-01", "2030-01-01"} {
			if known, err := b.BlindFor(t.Context(), other); known != "" || err != nil {
				t.Errorf("of %s it says %q, %v", other, known, err)
			}
		}
		planned, err := b.Plan(t.Context(), b.run.BatchID, inputs("x", "y", "x", "done"), ledger.PlanOptions{Doubt: why, New: expectNew})
		b.must(err)
		if planned[0].Status != ledger.InDoubt || planned[2].Status != ledger.InDoubt || planned[3].Status != ledger.Done {
			t.Errorf("planned %+v", planned)
		}
		all, err := list(b)
		b.must(err)
		later := b.now.Add(time.Hour)
		for _, e := range all {
			if want := map[string]ledger.Status{"done": ledger.Done, "failed": ledger.Failed}[e.BizID]; want != 0 {
				if e.Status != want {
					t.Errorf("%s is %s", e.BizID, e.Status)
				}
				continue
			}
			if e.Status != ledger.InDoubt || ledger.Impossible(e, false) != "" {
				t.Errorf("%s is %s, %s", e.BizID, e.Status, ledger.Impossible(e, false))
			}
			if do := ledger.Judge(e, plain, later, false).Do; do != ledger.Hold {
				t.Errorf("%s: %v", e.BizID, do)
			}
			checked := plain
			checked.Check = true
			if do := ledger.Judge(e, checked, later, false).Do; do != ledger.StartCheck {
				t.Errorf("%s, with a check: %v", e.BizID, do)
			}
			var refused *ledger.RefusedError
			if _, err := ledger.Rerun(e, ledger.Decision{}, plain); !errors.As(err, &refused) || !refused.Asks {
				t.Errorf("%s is rerun without a question: %v", e.BizID, err)
			}
		}
	}
}

// A doubt without a start has stood since it came up: neither longest nor never.
func TestTheOldestDoubtIsToldByStartOrElseByEnd(t *testing.T) {
	b := newBench(t)
	if e, err := b.OldestDoubt(t.Context(), nil); e != nil || err != nil {
		t.Errorf("%+v, %v of an empty ledger", e, err)
	}
	ids := b.plan("never", "started")
	b.ended("r1", plain, ids[1], ledger.Unknown)
	b.now = b.now.Add(time.Hour)
	_, err := b.GoBlind(t.Context(), ledger.Blind{BackupAt: b.now, RestoredAt: b.now})
	b.must(err)
	for _, tasks := range [][]string{nil, {b.run.TaskName}, {"other", b.run.TaskName}} {
		if e, err := b.OldestDoubt(t.Context(), tasks); err != nil || e == nil || e.BizID != "started" || e.DoubtSince().IsZero() {
			t.Errorf("of %q: %+v, %v", tasks, e, err)
		}
	}
	if e, err := b.OldestDoubt(t.Context(), []string{"other"}); e != nil || err != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestNoRecordIsForgottenWhereTheDoubtIsWrittenTwice(t *testing.T) {
	b := newBench(t)
	var names []string
	for i := range 1201 {
		names = append(names, fmt.Sprintf("u%04d", i))
	}
	b.plan(names...)
	n, err := b.GoBlind(t.Context(), ledger.Blind{BackupAt: b.now, RestoredAt: b.now})
	b.must(err)
	if c := b.batch().Counts; n != 1201 || c[ledger.InDoubt] != 1201 {
		t.Errorf("%d were put in doubt, and the batch counts %v", n, c)
	}
}
