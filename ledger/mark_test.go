package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
)

var why = ledger.Decision{Actor: "li", Reason: "seen in the other system", Generation: 1}

func TestMarkNeedsAReason(t *testing.T) {
	b := newBench(t)
	b.inAllStatuses()
	before := b.bytes()
	for _, reason := range []string{"", " \t\n"} {
		_, err := b.Mark(t.Context(), []int64{1}, ledger.Done, ledger.Decision{Actor: "li", Reason: reason})
		if !errors.Is(err, ledger.ErrNoReason) {
			t.Errorf("%q: %v", reason, err)
		}
	}
	if !cmp.Equal(before, b.bytes()) {
		t.Error("the ledger's file has changed")
	}
}

func TestMarkSettlesWhatItMayAndNamesTheRest(t *testing.T) {
	b := newBench(t)
	b.inAllStatuses()
	all := b.batch()
	var ids []int64
	for id := all.FirstID; id <= all.LastID; id++ {
		ids = append(ids, id)
	}
	refused, err := b.Mark(t.Context(), ids, ledger.Skipped, why)
	b.must(err)
	var names []string
	for _, err := range refused {
		var r *ledger.RefusedError
		if !errors.As(err, &r) || r.Busy != (r.Status == ledger.Running) {
			t.Fatal(err)
		}
		names = append(names, r.Key.BizID)
	}
	if d := cmp.Diff([]string{"running", "done", "skipped"}, names); d != "" {
		t.Errorf("refused (-want +got):\n%s", d)
	}
	want := ledger.Counts{ledger.Running: 1, ledger.Done: 1, ledger.Skipped: 4}
	if got := b.batch().Counts; got != want {
		t.Errorf("counts %v, want %v", got, want)
	}
	_, story, err := b.Story(t.Context(), ledger.Key{TaskName: task, BizID: "failed", ExecuteDate: date})
	b.must(err)
	last := story[len(story)-1]
	if last.Phase != ledger.Operator || last.Actor != "li" || last.Error != why.Reason || last.Status != ledger.Skipped {
		t.Errorf("its story ends with %+v", last)
	}
	for _, id := range ids {
		e := b.get(id)
		if got, want := ledger.MarkedSo(e, ledger.Skipped, why), e.Status == ledger.Skipped; got != want {
			t.Errorf("%s: already so: %v", e.BizID, got)
		}
	}
}

func TestAMarkAsFailedIsRepeatedOnlyForAnotherReason(t *testing.T) {
	b := newBench(t)
	id := b.plan("a")[0]
	b.ended("r1", plain, id, ledger.FailedForGood)
	if ledger.MarkedSo(b.get(id), ledger.Failed, why) {
		t.Error("it failed by itself, and nobody has said why")
	}
	_, err := b.Mark(t.Context(), []int64{id}, ledger.Failed, why)
	b.must(err)
	other := why
	other.Reason = "another"
	if e := b.get(id); !ledger.MarkedSo(e, ledger.Failed, why) || ledger.MarkedSo(e, ledger.Failed, other) {
		t.Errorf("%+v", e)
	}
}

func TestFreshInputIsTakenWithTheRerun(t *testing.T) {
	b := newBench(t)
	b.inAllStatuses()
	names := []string{"pending", "running", "done", "failed", "in_doubt", "skipped", "unknown"}
	in := inputs(names...)
	for i := range in {
		in[i].Payload = []byte(fmt.Sprintf(`{"fresh":%d}`, i))
	}
	ids := b.plan(names[:6]...)
	same := b.get(ids[3])
	insist := why
	insist.Insist, insist.Reason = true, "fresh input"
	changed, refused, err := b.RerunFresh(t.Context(), b.run.BatchID, in, insist, plain)
	b.must(err)
	if changed != 4 || len(refused) != 2 {
		t.Errorf("%d changed, refused %v", changed, refused)
	}
	for i, id := range ids {
		e := b.get(id)
		takes := e.BizID != "running" && e.BizID != "in_doubt"
		if got := string(e.Payload) == string(in[i].Payload); got != takes {
			t.Errorf("%s has %s", e.BizID, e.Payload)
		}
		if takes && e.Status != ledger.Pending {
			t.Errorf("%s is %s", e.BizID, e.Status)
		}
		_, story, err := b.Story(t.Context(), e.Key)
		b.must(err)
		if told := len(story) > 0 && story[len(story)-1].Error == "fresh input"; told != takes {
			t.Errorf("the story of %s: %+v", e.BizID, story)
		}
	}
	if e := b.get(same.ID); e.Generation != same.Generation {
		t.Errorf("another generation, and so another key: %+v", e)
	}

	// A doubt that was decided to be repeated keeps its fields all the same.
	doubt := b.plan("doubt")[0]
	b.ended("r1", plain, doubt, ledger.Unknown)
	_, err = b.Rerun(t.Context(), []int64{doubt}, insist, plain)
	b.must(err)
	_, refused, err = b.RerunFresh(t.Context(), b.run.BatchID, []ledger.Input{{BizID: "doubt", Payload: []byte(`{}`)}}, insist, plain)
	b.must(err)
	if len(refused) != 1 || !strings.Contains(refused[0].Error(), "in doubt") {
		t.Errorf("refused %v", refused)
	}
	changed, _, err = b.RerunFresh(t.Context(), b.run.BatchID, in[:1], insist, plain)
	b.must(err)
	if changed != 0 {
		t.Error("the same fields again count as changed")
	}
}

func TestASelectionByErrorTakesItAsItIsWritten(t *testing.T) {
	b := newBench(t)
	for id, text := range map[string]string{"a": "HTTP 503: busy", "b": "http 503", "c": "HTTP 404", "d": ""} {
		b.ended("r1", plain, b.plan(id)[0], ledger.FailedForGood, func(r *ledger.Report) { r.Error = text })
	}
	failed := []ledger.Status{ledger.Failed}
	for _, c := range []struct {
		s    ledger.Selection
		want int
	}{
		{ledger.Selection{Statuses: failed, ErrorLike: "HTTP 503"}, 1},
		{ledger.Selection{Statuses: failed, ErrorLike: "503"}, 2},
		{ledger.Selection{Statuses: failed, ErrorLike: "%"}, 0},
		{ledger.Selection{Statuses: failed}, 4},
		{ledger.Selection{Statuses: failed, ErrorLike: "HTTP", BizIDs: []string{"b", "c"}}, 1},
		{ledger.Selection{Statuses: failed, ErrorLike: "503", Limit: 1}, 1},
	} {
		if names, _ := b.pick(c.s); len(names) != c.want {
			t.Errorf("%+v picks %v", c.s, names)
		}
	}
}

func TestABatchIsCompleteWhenNothingIsLeft(t *testing.T) {
	for _, c := range []struct {
		b    ledger.Batch
		want bool
	}{
		{ledger.Batch{}, true},
		{ledger.Batch{Counts: ledger.Counts{ledger.Done: 3, ledger.Skipped: 1}}, true},
		{ledger.Batch{Counts: ledger.Counts{ledger.Done: 3}, OpenPlanRun: "r1"}, false},
		{ledger.Batch{Counts: ledger.Counts{ledger.Done: 3, ledger.Pending: 1}}, false},
		{ledger.Batch{Counts: ledger.Counts{ledger.Done: 3, ledger.Running: 1}}, false},
		{ledger.Batch{Counts: ledger.Counts{ledger.Done: 3, ledger.Failed: 1}}, false},
		{ledger.Batch{Counts: ledger.Counts{ledger.Done: 3, ledger.InDoubt: 1}}, false},
	} {
		if c.b.Complete() != c.want {
			t.Errorf("%+v", c.b)
		}
	}
}

func TestCountsAddUpWhateverTheyAreGroupedBy(t *testing.T) {
	var batches []ledger.Batch
	for i, name := range []string{"a", "b", "a"} {
		c := ledger.Counts{ledger.Done: int64(i), ledger.Failed: 1}
		batches = append(batches, ledger.Batch{TaskName: name, ExecuteDate: fmt.Sprintf("2026-11-0%d", i/2+1), Counts: c})
	}
	for _, c := range []struct {
		by   ledger.Grouping
		rows int
	}{
		{ledger.Grouping{}, 1}, {ledger.Grouping{Task: true}, 2}, {ledger.Grouping{Date: true}, 2}, {ledger.Grouping{Status: true}, 2},
		{ledger.Grouping{Task: true, Date: true}, 3}, {ledger.Grouping{Task: true, Date: true, Status: true}, 5},
	} {
		rows := ledger.Group(batches, c.by)
		var sum ledger.Counts
		for _, r := range rows {
			sum.Add(r.Counts)
			if (r.TaskName != nil) != c.by.Task || (r.ExecuteDate != nil) != c.by.Date || (r.Status != nil) != c.by.Status {
				t.Errorf("%+v: %+v", c.by, r)
			}
		}
		if want := (ledger.Counts{ledger.Done: 3, ledger.Failed: 3}); len(rows) != c.rows || sum != want {
			t.Errorf("%+v: %d rows with %v", c.by, len(rows), sum)
		}
	}
	if rows := ledger.Group(nil, ledger.Grouping{}); len(rows) != 0 {
		t.Errorf("of nothing: %+v", rows)
	}
}

func TestTheNextAttemptIsThatOfTheFirstThatIsDue(t *testing.T) {
	b := newBench(t)
	ids := b.plan("a", "b", "c", "d")
	due := func() time.Time {
		at, err := b.NextDue(t.Context(), b.batch())
		b.must(err)
		return at
	}
	if at := due(); !at.IsZero() {
		t.Errorf("nothing waits, and yet %s", at)
	}
	b.ended("r1", plain, ids[1], ledger.FailedAttempt)
	first := b.get(ids[1]).NotBefore
	b.now = b.now.Add(time.Hour)
	b.ended("r1", plain, ids[0], ledger.FailedAttempt)
	if at := due(); !at.Equal(first) {
		t.Errorf("%s, want %s", at, first)
	}
	_, err := b.Mark(t.Context(), ids[1:2], ledger.Skipped, why)
	b.must(err)
	if at := due(); !at.Equal(b.get(ids[0]).NotBefore) {
		t.Errorf("of the one that is left: %s", at)
	}
}
