package runner

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"runner/ledger"
)

func TestOneRecordWithTwoPayloadsIsAnErrorThatNamesBothLines(t *testing.T) { // case 13
	src := items{{"a", []byte(`{"v":"1"}`), 2}, {"b", nil, 3}, {"a", []byte(`{"v":"3"}`), 4}}
	_, err := ReadThrough(src, Shard{}, false)
	var place *PlaceError
	if !errors.As(err, &place) || place.Line != 4 || !strings.Contains(err.Error(), `"a" stands here and in line 2`) {
		t.Errorf("error %v", err)
	}
}

func TestExactRepeatsAreOneRecordAndCounted(t *testing.T) { // case 13
	b := newBench(t)
	src := items{{"a", []byte(`{"v":"1"}`), 2}, {"b", nil, 3}, {"a", []byte(`{"v":"1"}`), 4}, {"a", []byte(`{"v":"1"}`), 5}}
	s := b.run(b.options(src, quick(), succeed))
	if s.Planned != 2 || s.New != 2 || s.Duplicates != 2 || s.Executed != 2 || b.seen.n["a"] != 1 {
		t.Errorf("%+v", s)
	}
}

func TestAnEmptyInputIsAnErrorUnlessAllowed(t *testing.T) { // case 14
	if _, err := ReadThrough(items{}, Shard{}, false); err == nil {
		t.Error("no error")
	}
	if _, err := ReadThrough(items{}, Shard{}, true); err != nil {
		t.Error(err)
	}
	b := newBench(t)
	o := b.options(items{}, quick(), succeed)
	o.Survey, _ = ReadThrough(o.Source, Shard{}, true)
	s, err := Run(t.Context(), o)
	if err != nil || s.Result != Complete {
		t.Errorf("%+v, %v", s, err)
	}
}

// torn is a source that breaks after some records.
type torn struct{ items }

func (s torn) Records() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for i, err := range s.items.Records() {
			if !yield(i, err) {
				return
			}
		}
		yield(Item{}, errors.New("read error"))
	}
}

func TestAReadErrorIsNoEndOfFile(t *testing.T) { // case 15
	if _, err := ReadThrough(torn{ids(3)}, Shard{}, false); err == nil {
		t.Error("a broken input was taken for a short one")
	}
}

func TestARunDoesItsOwnInputAndLeavesTheRestAlone(t *testing.T) { // cases 8 and 70
	b := newBench(t)
	wrong := b.options(ids(10), quick(), succeed)
	wrong.Limit = 2
	b.run(wrong)
	right := items{{BizID: "u000005"}, {BizID: "u000001"}, {BizID: "new"}}
	s := b.run(b.options(right, quick(), succeed))
	if s.Planned != 3 || s.New != 1 || s.AlreadyDone != 1 || s.Executed != 2 || s.Absent != 8 || s.Result != Complete {
		t.Errorf("%+v", s)
	}
	for _, id := range []string{"u000003", "u000004", "u000006"} {
		if b.seen.n[id] != 0 {
			t.Errorf("%s was run", id)
		}
	}
}

func TestAChangedPayloadIsTakenOnlyBeforeTheFirstStart(t *testing.T) { // cases 4 and 5
	b := newBench(t)
	first := items{{"started", []byte(`{"v":"1"}`), 1}, {"untouched", []byte(`{"v":"1"}`), 2}}
	o := b.options(first, quick(), succeed)
	o.Limit, o.Task.Jobs = 1, 1
	b.run(o)
	second := items{{"started", []byte(`{"v":"2"}`), 1}, {"untouched", []byte(`{"v":"2"}`), 2}}
	s := b.run(b.options(second, quick(), succeed))
	if s.Changed != 2 || s.Executed != 1 {
		t.Errorf("%+v", s)
	}
	got := b.statuses()
	if p := string(got["started"].Payload); p != `{"v":"1"}` {
		t.Errorf("what was started goes on with %s", p)
	}
	if p := string(got["untouched"].Payload); p != `{"v":"2"}` {
		t.Errorf("what was not started goes on with %s", p)
	}
}

func TestAnInputThatChangesWhileItIsReadStartsNothing(t *testing.T) {
	b := newBench(t)
	o := b.options(ids(3), quick(), succeed)
	var err error
	o.Survey, err = ReadThrough(o.Source, Shard{}, false)
	must(t, err)
	o.Source = ids(4)
	s, err := Run(t.Context(), o)
	if err == nil || s.Result != Invalid || s.Executed != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestADryRunSaysWhatARunWouldDo(t *testing.T) { // case 27
	b := newBench(t)
	o := b.options(ids(3), quick(), succeed)
	o.Limit = 1
	b.run(o)
	o = b.options(items{{BizID: "u000001"}, {BizID: "u000002"}, {BizID: "x"}, {BizID: "x"}}, quick(), succeed)
	var err error
	o.Survey, err = ReadThrough(o.Source, Shard{}, false)
	must(t, err)
	var said []string
	s, err := Preview(t.Context(), o, func(biz string, j ledger.Judged, isNew bool) bool {
		said = append(said, fmt.Sprint(biz, " ", j.Do, " ", isNew))
		return true
	})
	must(t, err)
	want := []string{fmt.Sprint("u000001 ", ledger.Nothing, " false"), fmt.Sprint("u000002 ", ledger.StartAct, " false"), fmt.Sprint("x ", ledger.StartAct, " true")}
	if !slices.Equal(said, want) || s.Result != DryRun || s.Planned != 3 || s.New != 1 || s.AlreadyDone != 1 || s.Duplicates != 1 {
		t.Errorf("said %q\n%+v", said, s)
	}
	if len(b.seen.n) != 1 {
		t.Errorf("it ran %v", b.seen.n)
	}
}

// endless is a source of n ids that are never in memory together.
type endless struct {
	items
	n    int
	peak uint64
}

func (s *endless) Records() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for i := range s.n {
			if i%100_000 == 0 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				s.peak = max(s.peak, m.HeapAlloc)
			}
			if !yield(Item{BizID: fmt.Sprintf("%016d", i*7919), Line: int64(i)}, nil) {
				return
			}
		}
	}
}

func TestMemoryStaysFlatHoweverLongTheListIs(t *testing.T) { // case 16
	peak := func(n int) uint64 {
		s := &endless{n: n}
		if _, err := ReadThrough(s, Shard{}, false); err != nil {
			t.Fatal(err)
		}
		return s.peak
	}
	small, large := peak(400_000), peak(2_000_000)
	if large > small+(4<<20) {
		t.Errorf("400,000 ids took %d KiB, 2,000,000 took %d KiB", small>>10, large>>10)
	}
}

func TestAnOpenPlanIsNeverComplete(t *testing.T) { // case 83
	b := newBench(t)
	o := b.options(ids(planChunk+1), quick(), succeed)
	o.Stop = NewStop(time.Hour)
	defer o.Stop.Close()
	var err error
	o.Survey, err = ReadThrough(o.Source, Shard{}, false)
	must(t, err)
	n := 0
	o.Source = hooked{o.Source.(items), func() { // told to stop when one chunk is in the ledger
		if n++; n == planChunk+1 {
			o.Stop.Ask()
		}
	}}
	s, err := Run(t.Context(), o)
	must(t, err)
	if s.Result != Interrupted || s.Executed != 0 {
		t.Fatalf("%+v", s)
	}
	batch := b.batch()
	if batch.Complete() || batch.OpenPlanRun == "" || batch.Counts.Total() != planChunk {
		t.Errorf("%+v", batch)
	}
	if s := b.run(b.options(ids(planChunk+1), quick(), succeed)); s.Result != Complete || !b.batch().Complete() {
		t.Errorf("the next plan doesn't take its place: %+v, %+v", s, b.batch())
	}
}

// hooked is a source that calls fn before each record.
type hooked struct {
	items
	fn func()
}

func (s hooked) Records() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for i, err := range s.items.Records() {
			s.fn()
			if !yield(i, err) {
				return
			}
		}
	}
}

func TestHashesThatCameTwiceAreFoundInFlatMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOf(rapid.Uint64Range(0, 50)).Draw(t, "hashes")
		s := newHashSorter(rapid.IntRange(1, 20).Draw(t, "limit"))
		defer s.close()
		count := map[uint64]int{}
		for _, h := range hashes {
			count[h]++
			if err := s.add(h); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.repeated()
		if err != nil {
			t.Fatal(err)
		}
		for h, n := range count {
			if _, ok := got[h]; ok != (n > 1) {
				t.Errorf("%d came %d times: repeated %v", h, n, ok)
			}
		}
	})
}
