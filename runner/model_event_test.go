package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"runner/ledger"
)

// event is what happens between runs, or during one. One field is set.
type event struct {
	nth      int // start of the run during which it happens
	run      *plan
	order    *order
	clock    time.Duration
	recovers bool
}

// GoString is what rapid shows of it.
func (ev event) GoString() string {
	switch {
	case ev.run != nil:
		return "another run: " + ev.run.GoString()
	case ev.order != nil:
		return ev.order.GoString()
	case ev.recovers:
		return "recover"
	}
	return fmt.Sprintf("clock %+v", ev.clock)
}

func drawEvent(t *rapid.T, nested bool) *event {
	ev := &event{}
	switch rapid.IntRange(0, 3).Draw(t, "event") {
	case 0:
		ev.recovers = true
	case 1:
		ev.clock = drawClock.Draw(t, "clock")
	case 2:
		o := drawOrder(t)
		o.run = o.run && !nested
		ev.order = &o
	case 3:
		p := drawPlan(t, true)
		ev.run = &p
	}
	return ev
}

var drawClock = rapid.SampledFrom([]time.Duration{
	time.Second, time.Minute, 2 * time.Hour, 25 * time.Hour, -time.Minute, -30 * time.Hour,
})

func (ev event) happens(m *model) {
	switch {
	case ev.run != nil:
		m.start(*ev.run).run()
	case ev.order != nil:
		m.obeys(*ev.order)
	case ev.recovers:
		m.recovers()
	default:
		m.skew.Add(int64(ev.clock))
	}
}

// recovers is `runner recover`.
func (m *model) recovers() {
	m.mu.Lock()
	m.expire()
	h := m.host(false)
	m.mu.Unlock()
	r := newRecoverer(m.led, m.st.RunsDir(), h, "")
	rec, err := r.all(context.Background())
	must2(err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.say("%d runs are buried, %d survivors", len(rec.Runs), len(rec.Survivors))
}

// order is what an operator wants done.
type order struct {
	mark       bool
	as         ledger.Status // of mark
	status     ledger.Status // of rerun: those with this
	insist     bool
	generation int
	ids        []string
	run        bool // and then run them
	jobs       int
}

func drawOrder(t *rapid.T) order {
	o := order{
		mark: rarely(t, 3), insist: rapid.Bool().Draw(t, "insist"), ids: rapid.SliceOfNDistinct(rapid.SampledFrom(bizIDs), 1, 3, rapid.ID).Draw(t, "ids"),
		generation: rapid.IntRange(1, 2).Draw(t, "generation"), jobs: rapid.IntRange(1, 2).Draw(t, "jobs"),
	}
	if o.mark {
		o.as = rapid.SampledFrom([]ledger.Status{ledger.Done, ledger.Skipped, ledger.Failed}).Draw(t, "as")
		return o
	}
	o.status = rapid.SampledFrom([]ledger.Status{ledger.Failed, ledger.InDoubt, ledger.InDoubt, ledger.Skipped, ledger.Done, ledger.Pending}).Draw(t, "status")
	o.run = rapid.Bool().Draw(t, "run")
	return o
}

// GoString is what rapid shows of it.
func (o order) GoString() string {
	if o.mark {
		return fmt.Sprintf("mark %v %s", o.ids, o.as)
	}
	s := fmt.Sprintf("rerun %v --status %s", o.ids, o.status)
	if o.status == ledger.Done {
		s += fmt.Sprintf(" --generation %d", o.generation)
	}
	if o.insist {
		s += " --yes"
	}
	if o.run {
		s += ", and run them"
	}
	return s
}

// spy is the store of an operator: it tells what was changed.
type spy struct {
	ledger.Store
	changes *[]ledger.Change
}

type spyTx struct {
	ledger.Tx
	changes *[]ledger.Change
}

func (s spy) Update(ctx context.Context, fn func(ledger.Tx) error) error {
	var mine []ledger.Change
	err := s.Store.Update(ctx, func(tx ledger.Tx) error {
		mine = nil
		return fn(spyTx{tx, &mine})
	})
	if err == nil {
		*s.changes = append(*s.changes, mine...)
	}
	return err
}

func (s spyTx) Swap(c []ledger.Change) error {
	*s.changes = append(*s.changes, c...)
	return s.Tx.Swap(c)
}

// obeys does what an operator wants, and notes what that decided.
func (m *model) obeys(o order) {
	ids := m.decides(o)
	if o.run && len(ids) > 0 {
		m.start(plan{input: o.ids, records: ids, jobs: o.jobs}).run()
	}
}

func (m *model) decides(o order) (ids []int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for biz, e := range m.entries() {
		picked := o.mark || e.Status == o.status && (e.Status != ledger.Done || e.Generation == o.generation)
		if picked && slices.Contains(o.ids, biz) {
			ids = append(ids, e.ID)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return nil
	}
	var changes []ledger.Change
	led := m.ledger(spy{m.st, &changes})
	d := ledger.Decision{Actor: "li", Reason: "why", Insist: o.insist, Generation: o.generation}
	var refused []error
	var err error
	if o.mark {
		refused, err = led.Mark(context.Background(), ids, o.as, d)
	} else {
		refused, err = led.Rerun(context.Background(), ids, d, m.policy)
	}
	must2(err)
	for _, c := range changes {
		m.decided(o, c)
	}
	for _, r := range refused {
		m.say("refused: %v", r.(*ledger.RefusedError).Why[:12])
	}
	return ids
}

// decided takes in what an operator's decision makes true.
func (m *model) decided(o order, c ledger.Change) {
	f, gen := m.facts[c.New.BizID], c.Old.Generation
	m.say("%s is %s", c.New.BizID, c.New.Status)
	there := f.whole[gen] > 0 || f.half[gen]
	switch {
	case c.Old.Status == ledger.Running:
		m.complain("an operator changed %s while it is running", c.New.BizID)
	case o.mark && o.as != ledger.Skipped:
		f.unknown = false
		f.excused[gen] = f.excused[gen] || there
	case o.mark || c.Old.Status == ledger.Pending:
	case c.Old.Status == ledger.Done:
		if !o.insist || c.New.Generation != gen+1 {
			m.complain("%s is to be done again, and nobody insisted", c.New.BizID)
		}
		f.unknown, f.tries = false, 0
	default:
		if m.hold() && f.unknown {
			if !o.insist {
				m.complain("%s is to be repeated, and nobody insisted (promise 4)", c.New.BizID)
			}
			f.unknown = false
			f.excused[gen] = true
		}
		f.tries = 0
	}
	if c.New.Fence > c.Old.Fence {
		f.decided = c.New.Fence
	}
}

// ends ends what has outlived its runner, with its effect or without.
func (m *model) ends(n int, applied bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	ids := slices.Sorted(maps.Keys(m.alive)) // run ids rise
	if len(ids) == 0 {
		return
	}
	tr := m.alive[ids[n%len(ids)]]
	delete(m.alive, tr.id)
	if applied {
		m.takesEffect(tr)
	}
	tr.living = false
	m.say("%s of %s by run %d ends, its deed is %s, effect %v", tr.phase, tr.biz, tr.proc.no, tr.deed, tr.applied)
}
