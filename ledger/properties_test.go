package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// world is one record and everybody who has to do with it: runs that claim
// it, reports that come when they like, as often as they like, and operators.
type world struct {
	e      Entry
	p      Policy
	now    time.Time
	asked  bool
	ends   []Report       // what became of each claim, to be sent any number of times
	known  map[int64]bool // fences whose certain outcome has moved the record
	newest int64          // the act attempt that nothing has overtaken
	before int64          // what it was before the claim that is held
	set    bool           // aside by an operator who has skipped the record
	undone int            // compensations since the newest attempt
	keys   map[int]string // by generation
}

func newWorld(t *rapid.T) *world {
	flag := rapid.Bool()
	w := &world{e: record(), now: noon, known: map[int64]bool{}, keys: map[int]string{}}
	w.p = with(plain, func(p *Policy) {
		p.Attempts = rapid.IntRange(1, 4).Draw(t, "attempts")
		p.Idempotent, p.Check = flag.Draw(t, "idempotent"), flag.Draw(t, "check")
		p.Compensate = p.Check && flag.Draw(t, "compensate")
		p.CheckFirst = p.Check && flag.Draw(t, "check_first")
		p.CheckAfter = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "check_after")
	})
	return w
}

func (w *world) time(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(t, "seconds")) * time.Second)
}

func (w *world) newRun(*rapid.T) { w.asked = false }

func (w *world) claim(t *rapid.T) {
	v := Judge(w.e, w.p, w.now, w.asked)
	switch {
	case v.Do.Starts() && w.e.Status != Pending && w.e.Status != InDoubt:
		t.Fatalf("a %s record would be started", w.e.Status)
	case v.Do == StartAct && w.e.Status == InDoubt && !w.p.Idempotent:
		t.Fatalf("in doubt, and blindly repeated: %+v", w.e)
	case v.Do == StartCheck && !w.p.Check, v.Do == StartCompensate && !w.p.Compensate:
		t.Fatalf("the task has no such action: %d", v.Do)
	case v.Do == Hold && w.e.Status != InDoubt:
		t.Fatalf("held without a doubt: %+v", w.e)
	case (v.Do == Busy) != (w.e.Status == Running):
		t.Fatalf("%s and judged %d", w.e.Status, v.Do)
	}
	if !v.Do.Starts() {
		return
	}
	was := w.e
	w.e = Claim(was, v.Do.Phase(), "r")
	if w.e.Fence != was.Fence+1 {
		t.Fatalf("claimed with fence %d after %d", w.e.Fence, was.Fence)
	}
	outcomes := []Outcome{NotStarted, Unknown, Applied, Absent, Partial, Unclear}
	switch w.e.Phase {
	case Act:
		outcomes = []Outcome{NotStarted, Unknown, Succeeded, FailedAttempt, FailedForGood, AskedLater}
		w.before, w.newest = w.newest, w.e.Fence
	case Check:
		w.asked = true
	case Compensate:
		outcomes = []Outcome{NotStarted, Unknown, Succeeded, FailedAttempt}
		w.before, w.newest = w.newest, 0
	}
	end := Report{
		RecordID: 1, Fence: w.e.Fence, Phase: w.e.Phase, RunID: "r", Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"),
		RetryAfter: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "retry_after"), StartedAt: w.now, EndedAt: w.now,
	}
	if rapid.Bool().Draw(t, "thought dead") { // another run believes that it was cut off
		lost := end
		lost.Outcome, lost.CutOff = Unknown, true
		if end.Outcome == NotStarted {
			end = lost
		}
		w.ends = append(w.ends, lost)
	}
	w.ends = append(w.ends, end)
}

// send delivers any report there is, for the first time or again.
func (w *world) send(t *rapid.T) {
	if len(w.ends) == 0 {
		return
	}
	i := len(w.ends) - 1 - rapid.IntRange(0, min(len(w.ends)-1, 5)).Draw(t, "back")
	r := w.ends[i]
	was := w.e
	rnd := rapid.Float64Range(0, 0.999).Draw(t, "rnd")
	n, fate := Settle(was, r, w.p, w.now, rnd)
	w.e = n
	holder := was.Status == Running && was.Fence == r.Fence
	switch {
	case fate != Moved && !cmp.Equal(was, n):
		t.Fatalf("fate %d, and it has changed: %s", fate, cmp.Diff(was, n))
	case holder && fate != Moved:
		t.Fatalf("the holder's report is ignored: %+v", r)
	case fate == Moved && !holder && (r.Phase != Act || !r.Outcome.Certain()):
		t.Fatalf("a stale fence moves it: %+v", r)
	case fate == Moved && !holder && w.known[r.Fence]:
		t.Fatalf("one outcome has settled it twice: %+v", r)
	case fate == Moved && !holder && r.Fence != w.newest:
		t.Fatalf("an outcome that was overtaken moves it: %+v", r)
	case r.Outcome == Succeeded && r.Phase == Act && r.Fence == w.newest && !w.set && n.Status != Done:
		t.Fatalf("a certain success is lost: %+v", n)
	case was.Status == Done && !cmp.Equal(was, n):
		t.Fatalf("a done record has changed: %s", cmp.Diff(was, n))
	}
	if fate != Moved {
		return
	}
	switch {
	case holder && r.Phase != Check && r.Outcome == NotStarted:
		w.newest = w.before
	case holder && r.Phase == Act:
		w.undone = 0
	}
	if r.Phase == Act && r.Outcome.Certain() {
		w.known[r.Fence] = true
	}
	if r.Phase == Compensate && r.Outcome != NotStarted {
		if w.undone++; w.undone > 1 {
			t.Fatal("compensated twice for one attempt")
		}
	}
	again, fate := Settle(n, r, w.p, w.now.Add(time.Hour), rnd)
	if fate == Moved || !cmp.Equal(n, again) {
		t.Fatalf("settled twice by one report: %s", cmp.Diff(n, again))
	}
}

func (w *world) rerun(t *rapid.T) {
	d := Decision{Insist: rapid.Bool().Draw(t, "insist"), Generation: rapid.IntRange(1, 3).Draw(t, "generation")}
	n, err := Rerun(w.e, d, w.p)
	switch {
	case err != nil && !cmp.Equal(w.e, n):
		t.Fatalf("refused, and changed: %s", cmp.Diff(w.e, n))
	case err == nil && w.e.Status == Running:
		t.Fatal("a running record was rerun")
	case err == nil && w.e.Status == Done && (!d.Insist || d.Generation != w.e.Generation || n.Generation != w.e.Generation+1):
		t.Fatalf("a done record was rerun: %+v, %+v", d, n)
	case err == nil && w.e.Status != Done && n.Generation != w.e.Generation:
		t.Fatalf("%s, and a new generation", w.e.Status)
	case err == nil && w.e.Status == InDoubt && !d.Insist && !w.p.Check && !w.p.Idempotent:
		t.Fatal("in doubt, and nobody was asked")
	}
	if err == nil {
		w.set = false
		if w.e.Status == Done || w.e.Status == Failed {
			w.newest = 0
		}
	}
	w.e = n
}

func (w *world) mark(t *rapid.T) {
	as := rapid.SampledFrom([]Status{Done, Skipped, Failed}).Draw(t, "as")
	n, err := Mark(w.e, as, Decision{Actor: "li", Reason: "why"}, w.now)
	switch {
	case err != nil && !cmp.Equal(w.e, n):
		t.Fatalf("refused, and changed: %s", cmp.Diff(w.e, n))
	case err == nil && (w.e.Status == Running || w.e.Status == Done || w.e.Status == Skipped):
		t.Fatalf("a %s record was marked", w.e.Status)
	}
	if err == nil {
		if w.set = as == Skipped; !w.set {
			w.newest = 0
		}
	}
	w.e = n
}

func TestNoSequenceOfEventsBreaksThePromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		step := func(fn func(*rapid.T)) func(*rapid.T) {
			return func(t *rapid.T) {
				was := w.e
				fn(t)
				w.check(t, was)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"claim": step(w.claim), "claim again": step(w.claim), "send": step(w.send), "send another": step(w.send), "send one more": step(w.send),
			"rerun": step(w.rerun), "mark": step(w.mark), "time": step(w.time), "new run": step(w.newRun),
		})
	})
}

func (w *world) check(t *rapid.T, was Entry) {
	n := w.e
	key := IdempotencyKey("", n.Key, n.Generation)
	if w.keys[n.Generation] == "" {
		w.keys[n.Generation] = key
	}
	switch {
	case n.Fence < was.Fence:
		t.Fatalf("the fence fell from %d to %d", was.Fence, n.Fence)
	case n.Fence == was.Fence && n.Status != was.Status && was.Status != Running:
		t.Fatalf("it went from %s to %s under one fence", was.Status, n.Status)
	case n.Attempts < 0 || n.Attempts > w.p.Attempts:
		t.Fatalf("%d attempts of %d", n.Attempts, w.p.Attempts)
	case was.Status == Done && n.Status != Done && n.Generation != was.Generation+1:
		t.Fatalf("done, and then %s", n.Status)
	case n.Generation < was.Generation:
		t.Fatalf("generation %d after %d", n.Generation, was.Generation)
	case n.Status != Running && n.Phase != Act:
		t.Fatalf("%s in phase %s", n.Status, n.Phase)
	case w.keys[n.Generation] != key || n.Generation > 1 && key == w.keys[n.Generation-1]:
		t.Fatalf("its key changed within generation %d", n.Generation)
	}
}
