package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
)

// pick gives the biz_ids that a selection picks.
func (b *bench) pick(s ledger.Selection) (names []string, ids []int64) {
	b.t.Helper()
	s.TaskName, s.ExecuteDate = task, date
	b.must(b.Select(b.t.Context(), s, func(page []ledger.Entry) error {
		for _, e := range page {
			names, ids = append(names, e.BizID), append(ids, e.ID)
		}
		return nil
	}))
	return names, ids
}

// inAllStatuses plans a record for each status, named after it.
func (b *bench) inAllStatuses() {
	ids := b.plan("pending", "running", "done", "failed", "in_doubt", "skipped")
	b.claim("r1", plain, ids[1])
	b.ended("r1", plain, ids[2], ledger.Succeeded)
	b.ended("r1", plain, ids[3], ledger.FailedForGood)
	b.ended("r1", plain, ids[4], ledger.Unknown)
	b.mark(ids[5], ledger.Skipped)
}

func (b *bench) mark(id int64, as ledger.Status) {
	b.t.Helper()
	e := b.get(id)
	n, err := ledger.Mark(e, as, ledger.Decision{Actor: "li", Reason: "why"}, b.now)
	b.must(err)
	b.must(b.Store().Update(b.t.Context(), func(tx ledger.Tx) error {
		return tx.Swap([]ledger.Change{{Old: e, New: n}})
	}))
}

func TestASelectionPicksByStatusAndID(t *testing.T) {
	b := newBench(t)
	b.inAllStatuses()
	failed, done := []ledger.Status{ledger.Failed}, []ledger.Status{ledger.Done}
	for _, c := range []struct {
		name string
		s    ledger.Selection
		want string
	}{
		{"failed", ledger.Selection{Statuses: failed}, "failed"},
		{"failed and in doubt, in the order of planning", ledger.Selection{Statuses: []ledger.Status{ledger.InDoubt, ledger.Failed}}, "failed in_doubt"},
		{"at most one", ledger.Selection{Statuses: []ledger.Status{ledger.InDoubt, ledger.Failed}, Limit: 1}, "failed"},
		{"done", ledger.Selection{Statuses: done, Generation: 1}, "done"},
		{"done, in the first generation if none is named", ledger.Selection{Statuses: done}, "done"},
		{"done in a generation that none has", ledger.Selection{Statuses: done, Generation: 3}, ""},
		{"done and pending", ledger.Selection{Statuses: []ledger.Status{ledger.Done, ledger.Pending}, Generation: 1}, "pending done"},
		{"by id, only those with the status", ledger.Selection{Statuses: failed, BizIDs: []string{"done", "failed", "pending"}}, "failed"},
		{"by id, named twice", ledger.Selection{Statuses: failed, BizIDs: []string{"failed", "failed"}}, "failed"},
		{"by id, running: for the rules to refuse", ledger.Selection{Statuses: failed, BizIDs: []string{"running", "failed"}}, "running failed"},
		{"by id, at most one", ledger.Selection{Statuses: []ledger.Status{ledger.Failed, ledger.Skipped}, BizIDs: []string{"skipped", "failed"}, Limit: 1}, "failed"},
	} {
		got, _ := b.pick(c.s)
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestUnknownIDsAreListedBeforeAnythingIsPicked(t *testing.T) {
	b := newBench(t)
	b.plan("a")
	names := []string{"a"}
	for i := range 1500 { // beyond one chunk
		names = append(names, fmt.Sprintf("x%04d", i))
	}
	s := ledger.Selection{TaskName: task, ExecuteDate: date, Statuses: []ledger.Status{ledger.Pending}, BizIDs: names}
	called := false
	err := b.Select(t.Context(), s, func([]ledger.Entry) error { called = true; return nil })
	var unknown *ledger.UnknownIDsError
	if !errors.As(err, &unknown) || called || len(unknown.IDs) != 1500 {
		t.Fatalf("called %v, %v", called, err)
	}
	if want := task + " has no record on " + date + " with biz_id x0000, x0001,"; !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "x0009, … and 1490 more") {
		t.Errorf("%s", err)
	}
	s.ExecuteDate = "2026-11-29"
	if err := b.Select(t.Context(), s, func([]ledger.Entry) error { called = true; return nil }); !errors.Is(err, ledger.ErrNotFound) || called {
		t.Errorf("no such batch: called %v, %v", called, err)
	}
	s.BizIDs = nil
	if err := b.Select(t.Context(), s, func([]ledger.Entry) error { called = true; return nil }); err != nil || called {
		t.Errorf("a date without records: called %v, %v", called, err)
	}
}

func TestALargeSelectionIsPickedInPages(t *testing.T) {
	b := newBench(t)
	var names []string
	for i := range 2300 {
		names = append(names, fmt.Sprintf("u%04d", i))
	}
	b.plan(names...)
	pending := []ledger.Status{ledger.Pending}
	for _, s := range []ledger.Selection{{Statuses: pending}, {Statuses: pending, BizIDs: names}} {
		if got, _ := b.pick(s); !cmp.Equal(names, got) {
			t.Errorf("%d names: picked %d", len(s.BizIDs), len(got))
		}
		s.Limit = 1700
		if got, _ := b.pick(s); !cmp.Equal(names[:1700], got) {
			t.Errorf("%d names, at most 1700: picked %d", len(s.BizIDs), len(got))
		}
	}
}

// Case 72: the rerun of done records was cut off, and the line is repeated.
func TestRepeatingARerunOfDoneRecordsRedoesNothing(t *testing.T) {
	b := newBench(t)
	ids := b.plan("a", "b", "c", "never started")
	for _, id := range ids[:3] {
		b.ended("r1", plain, id, ledger.Succeeded)
	}
	line := ledger.Selection{Statuses: []ledger.Status{ledger.Done}, Generation: 1}
	rerun := func() []error {
		t.Helper()
		_, picked := b.pick(line)
		refused, err := b.Rerun(t.Context(), picked, ledger.Decision{Actor: "li", Insist: true, Generation: 1}, plain)
		b.must(err)
		return refused
	}
	if no := rerun(); len(no) != 0 {
		t.Fatal(no)
	}
	b.ended("r2", plain, ids[0], ledger.Succeeded)
	b.ended("r2", plain, ids[1], ledger.FailedAttempt) // then r2 is killed
	if got, _ := b.pick(line); strings.Join(got, " ") != "b c" {
		t.Fatalf("repeated after a cut: %v", got)
	}
	if no := rerun(); len(no) != 0 {
		t.Fatal(no)
	}
	for _, id := range ids[1:3] {
		b.ended("r3", plain, id, ledger.Succeeded)
	}
	for range 2 {
		if got, _ := b.pick(line); len(got) != 0 {
			t.Errorf("all are done again, and the same line picks %v", got)
		}
		rerun()
	}
	for _, id := range ids[:3] {
		if e := b.get(id); e.Status != ledger.Done || e.Generation != 2 {
			t.Errorf("%s: %s in generation %d", e.BizID, e.Status, e.Generation)
		}
	}
	if e := b.get(ids[3]); e.Status != ledger.Pending || e.Generation != 1 || e.Fence != 0 {
		t.Errorf("%+v", e)
	}
}

func TestARerunSaysWhatHasGoneOnMeanwhile(t *testing.T) {
	b := newBench(t)
	b.inAllStatuses()
	_, ids := b.pick(ledger.Selection{Statuses: ledger.Statuses, Generation: 1})
	refused, err := b.Rerun(t.Context(), ids, ledger.Decision{Actor: "li", Generation: 1}, plain)
	b.must(err)
	var got []string
	for _, err := range refused {
		var r *ledger.RefusedError
		if !errors.As(err, &r) {
			t.Fatal(err)
		}
		got = append(got, r.Key.BizID)
	}
	if d := cmp.Diff("running done in_doubt", strings.Join(got, " ")); d != "" {
		t.Errorf("refused: %s", d)
	}
	if d := cmp.Diff(ledger.Counts{3, 1, 1, 0, 1, 0}, b.batch().Counts); d != "" {
		t.Errorf("counts: %s", d)
	}
}
