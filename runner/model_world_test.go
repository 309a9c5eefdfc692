package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"runner/ledger"
	"runner/ledger/sqlite"
)

// model is the world as it is, beside what the ledger believes of it: which
// actions were started and which effects are there, and by which operator's
// word. It shares nothing with the rules.
type model struct {
	policy ledger.Policy
	st     *sqlite.Store // the test's own: it never fails
	led    *ledger.Ledger
	dir    string
	stores []*sqlite.Store

	skew atomic.Int64 // nanoseconds that the injected clock is ahead

	mu    sync.Mutex
	boot  int
	procs int
	runs  map[string]*proc
	facts map[string]*fact  // by biz_id
	alive map[string]*trial // what has outlived its runner, by attempt id
	said  []string          // what happened in this step
	wrong []string
}

// fact is what is true of a record.
type fact struct {
	version int // of its payload in the inputs
	payload string
	trials  []*trial
	whole   map[int]int  // effects by generation
	half    map[int]bool // half an effect is there
	excused map[int]bool // an operator decided without knowing: what is there says nothing
	tries   int          // starts that count, since the last rerun
	unknown bool         // nobody knows how an attempt ended, and nobody has insisted
	decided int64        // fence of the last decision of an operator
	seen    ledger.Entry // after the last step
}

// trial is one start of an action, a check or a compensation.
type trial struct {
	id, biz string
	proc    *proc
	phase   ledger.Phase
	gen     int
	fence   int64
	deed    deed
	nth     int // of its run
	at      time.Time
	applied bool
	living  bool
	known   bool // its runner was told the outcome, and lived long enough to keep it
	outcome ledger.Outcome
}

func newModel(dir string, p ledger.Policy) *model {
	m := &model{
		policy: p, dir: dir, boot: 1,
		runs: map[string]*proc{}, facts: map[string]*fact{}, alive: map[string]*trial{},
	}
	for _, biz := range bizIDs {
		m.facts[biz] = &fact{version: 1, whole: map[int]int{}, half: map[int]bool{}, excused: map[int]bool{}}
	}
	m.st = m.open()
	m.led = m.ledger(m.st)
	return m
}

var bizIDs = []string{"a", "b", "c", "d", "e"}

// open opens the ledger as another process would.
func (m *model) open() *sqlite.Store {
	st, err := sqlite.Open(context.Background(), filepath.Join(m.dir, "ledger.db"), sqlite.Options{Create: true})
	if err != nil {
		panic(err)
	}
	m.stores = append(m.stores, st)
	return st
}

func (m *model) close() {
	for _, st := range m.stores {
		_ = st.Close()
	}
}

func (m *model) ledger(s ledger.Store) *ledger.Ledger {
	l := ledger.New(s)
	l.Now, l.Rand = m.now, func() float64 { return 0.5 }
	return l
}

func (m *model) now() time.Time {
	return time.Now().UTC().Add(time.Duration(m.skew.Load())).Truncate(time.Microsecond)
}

func (m *model) say(format string, args ...any) {
	m.said = append(m.said, fmt.Sprintf(format, args...))
}

func (m *model) complain(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

func (m *model) hold() bool { return !m.policy.Idempotent && !m.policy.Check }

// host is what a process says of where it runs.
func (m *model) host(contained bool) host {
	h := host{Name: "here", Boot: fmt.Sprint("boot ", m.boot), PIDNS: "pid:[1]", PID: 1000 + m.procs}
	if contained {
		h.PIDNS = fmt.Sprint("pid:[", h.PID, "]")
	}
	return h
}

// processTable is findProcesses of this world.
func (m *model) processTable(asked []suspectProcess) processes {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := processes{alive: map[string]member{}, left: map[string]int{}}
	for _, a := range asked {
		if tr, ok := m.alive[a.id]; ok && !tr.proc.plan.contained {
			found.alive[a.id] = member{pid: 1 << 30}
		}
	}
	return found
}

// expire ends what has outlived its runner in a container that nobody can
// look into: from then on it is taken for ended, and has to be.
func (m *model) expire() {
	for id, tr := range m.alive {
		limit := m.policy.TimeoutOf(tr.phase) + 2*KillAfter
		if tr.proc.plan.contained && !m.now().Before(tr.at.Add(limit)) {
			tr.living = false
			delete(m.alive, id)
		}
	}
}

func (m *model) entries() map[string]ledger.Entry {
	all := map[string]ledger.Entry{}
	must2(m.st.View(context.Background(), func(r ledger.Reader) error {
		list, err := r.List(ledger.Query{})
		for _, e := range list {
			all[e.BizID] = e
		}
		return err
	}))
	return all
}

func must2(err error) {
	if err != nil {
		panic(err)
	}
}

// items is the input of a run as it is now.
func (m *model) items(ids []string) items {
	var s items
	for i, biz := range ids {
		s = append(s, Item{BizID: biz, Payload: fmt.Appendf(nil, `{"v":%d}`, m.facts[biz].version), Line: int64(i + 1)})
	}
	return s
}

// starts notes a start and judges it by everything that is true at that
// moment. e is what the ledger holds.
func (m *model) starts(p *proc, tr *trial, at Attempt, e ledger.Entry) {
	f := m.facts[tr.biz]
	m.expire()
	bad := func(format string, args ...any) {
		m.complain("%s of %s by run %d: %s", tr.phase, tr.biz, p.no, fmt.Sprintf(format, args...))
	}
	for _, o := range f.trials {
		switch {
		case o.living:
			bad("the %s of run %d is still at it (promise 1)", o.phase, o.proc.no)
		case o.fence >= tr.fence:
			bad("fence %d after %d", tr.fence, o.fence)
		case tr.phase == ledger.Act && o.phase == ledger.Act && o.gen == tr.gen && o.known && o.outcome == ledger.Succeeded && f.decided < o.fence:
			bad("run %d has done it (promise 2)", o.proc.no)
		}
	}
	if f.seen.Status == ledger.Done && f.seen.Generation == tr.gen {
		bad("it was done in generation %d (promise 2)", tr.gen)
	}
	if e.Status != ledger.Running || e.RunID != at.RunID || e.Fence != tr.fence || e.Phase != tr.phase {
		bad("the ledger doesn't hold its claim (promise 3)")
	}
	if p.scope != nil && !p.scope[tr.biz] {
		bad("it isn't in the input (promise 6)")
	}
	if p.plan.askOnly && tr.phase != ledger.Check {
		bad("the run was only to ask")
	}
	if p.begun[tr.biz] = true; p.plan.limit > 0 && len(p.begun) > p.plan.limit {
		bad("more than %d records", p.plan.limit)
	}
	if tr.phase == ledger.Act {
		m.startsAct(f, tr, at, bad)
	}
	f.trials = append(f.trials, tr)
}

func (m *model) startsAct(f *fact, tr *trial, at Attempt, bad func(string, ...any)) {
	if m.hold() && f.unknown {
		bad("nobody knows how the last one ended, and nobody insisted (promise 4)")
	}
	if m.policy.Check && !m.policy.Idempotent && !f.excused[tr.gen] && (f.whole[tr.gen] > 0 || f.half[tr.gen]) {
		bad("its effect is there, and the check says so (promise 4)")
	}
	if f.tries++; f.tries > m.policy.Attempts {
		bad("attempt %d of %d", f.tries, m.policy.Attempts)
	}
	if f.payload != "" && f.payload != string(at.Payload) {
		bad("it was started with %s, and now with %s", f.payload, at.Payload)
	}
	f.payload = string(at.Payload)
}

// takesEffect is what an action does to the world.
func (m *model) takesEffect(tr *trial) {
	f := m.facts[tr.biz]
	if tr.applied {
		return
	}
	tr.applied = true
	switch {
	case tr.phase == ledger.Compensate && tr.deed.applies():
		delete(f.half, tr.gen)
	case tr.phase == ledger.Act && tr.deed == halves:
		f.half[tr.gen] = true
	case tr.phase == ledger.Act && tr.deed.applies():
		delete(f.half, tr.gen)
		if f.whole[tr.gen]++; f.whole[tr.gen] > 1 && !m.policy.Idempotent && !f.excused[tr.gen] {
			m.complain("%s took effect %d times in generation %d", tr.biz, f.whole[tr.gen], tr.gen)
		}
	}
}

// learns notes how an attempt ended, as far as its runner knows.
func (m *model) learns(tr *trial, o ledger.Outcome) {
	tr.living, tr.known, tr.outcome = false, true, o
	f := m.facts[tr.biz]
	switch {
	case tr.phase != ledger.Act:
	case o == ledger.AskedLater:
		f.tries--
	case o == ledger.Unknown:
		f.unknown = true
	}
}

// forgets: what the runner knew died with it.
func (m *model) forgets(tr *trial) {
	f := m.facts[tr.biz]
	if tr.phase == ledger.Act {
		f.unknown = true
		if tr.known && tr.outcome == ledger.AskedLater {
			f.tries++
		}
	}
	tr.known, tr.outcome = false, ledger.Unknown
}
