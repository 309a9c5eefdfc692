package runner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime/debug"

	"runner/ledger"
)

var (
	errKilled = errors.New("killed")
	errFull   = &ledger.UnusableError{Path: "ledger.db", Why: "the disk is full"}
)

// proc is a process that makes one run, up to its end or its death.
type proc struct {
	m       *model
	no      int
	plan    plan
	e       *engine
	scope   map[string]bool // nil: the whole batch
	begun   map[string]bool
	updates int
	starts  int
	dead    bool
	killed  chan struct{}
}

// kill stops the process as SIGKILL does: from now on nothing of it reaches
// the ledger or the journal. What it leaves is what is there.
func (p *proc) kill() {
	if p.dead {
		return
	}
	p.dead = true
	close(p.killed)
	if p.e != nil && p.e.file != nil {
		p.e.file.mu.Lock()
		p.e.file.err = errKilled
		p.e.file.mu.Unlock()
	}
	p.m.say("run %d is killed %s", p.no, p.plan.doom)
}

// doomAt is what befalls the process at the nth commit or start.
func (p *proc) doomAt(during bool, nth int) place {
	d := p.plan.doom
	if d.at.duringStart() != during || nth < d.n || nth > d.n && (!d.at.lasts() || !d.stays) {
		return nowhere
	}
	return d.at
}

const duringStarts, duringCommits = true, false

// doomed is the store of a process that may die at each commit, or to which a
// commit may fail.
type doomed struct {
	ledger.Store
	p *proc
}

func (d *doomed) mustLive() {
	d.p.m.mu.Lock()
	defer d.p.m.mu.Unlock()
	if d.p.dead {
		panic(errKilled)
	}
}

func (d *doomed) View(ctx context.Context, fn func(ledger.Reader) error) error {
	d.mustLive()
	return d.Store.View(ctx, fn)
}

func (d *doomed) Update(ctx context.Context, fn func(ledger.Tx) error) (err error) {
	d.mustLive()
	d.p.updates++
	at := d.p.doomAt(duringCommits, d.p.updates)
	switch at {
	case failBefore:
		return errFull
	case dieInCommit, failInCommit:
		err = d.Store.Update(ctx, func(tx ledger.Tx) error {
			if err := fn(tx); err != nil {
				return err
			}
			return errFull
		})
	case nowhere, dieAfterCommit, failAfterCommit:
		err = d.Store.Update(ctx, fn)
		if err == nil && at == failAfterCommit {
			err = errFull
		}
	}
	if at == dieBeforeCommit || at == dieInCommit || at == dieAfterCommit {
		d.p.m.mu.Lock()
		d.p.kill()
		d.p.m.mu.Unlock()
		panic(errKilled)
	}
	return err
}

// start makes a process with a run in it.
func (m *model) start(pl plan) *proc {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.procs++
	p := &proc{m: m, no: m.procs, plan: pl, begun: map[string]bool{}, killed: make(chan struct{})}
	if !pl.all {
		p.scope = map[string]bool{}
		for _, biz := range pl.input {
			p.scope[biz] = true
		}
	}
	return p
}

func (p *proc) options(st ledger.Store) Options {
	m, pol := p.m, p.m.policy
	m.mu.Lock()
	src := m.items(p.plan.input)
	m.mu.Unlock()
	o := Options{
		Ledger: m.ledger(st), RunsDir: m.st.RunsDir(), Date: "2026-11-28", Zone: "UTC", Command: "run",
		Limit: int64(p.plan.limit), IncludeAbsent: p.plan.all, AskOnly: p.plan.askOnly, Stop: NewStop(DefaultGrace),
		Observe: p.observe,
		Task: Task{
			Name: "grant", Policy: pol, Jobs: p.plan.jobs, MaxWait: p.plan.maxWait, Definition: Definition{Kind: "test", Action: []byte("{}"), Policy: pol},
			Action: p.action(ledger.Act), Check: p.action(ledger.Check), Compensate: p.action(ledger.Compensate),
		},
	}
	if p.plan.records != nil {
		o.Records, o.Command = p.plan.records, "rerun"
		return o
	}
	var err error
	o.Source = src
	o.Survey, err = ReadThrough(src, Shard{}, false)
	must2(err)
	return o
}

// observe: what is reported is durable.
func (p *proc) observe(ev Event) {
	if ev.Settled == nil {
		return
	}
	e := p.m.entries()[ev.Settled.Entry.BizID]
	if s := ev.Settled; e.Fence < s.Fence || e.Fence == s.Fence && e.Status == ledger.Running {
		p.m.mu.Lock()
		defer p.m.mu.Unlock()
		p.m.complain("run %d reports %s of %s, and the ledger doesn't hold it (promise 3)", p.no, s.Outcome, e.BizID)
	}
}

// run makes the run in a ledger opened for it, and buries what it leaves if it dies.
func (p *proc) run() {
	o := p.options(&doomed{p.m.open(), p})
	defer o.Stop.Close()
	defer func() {
		v := recover()
		p.m.mu.Lock()
		defer p.m.mu.Unlock()
		if v != nil && v != errKilled {
			p.m.complain("run %d panics: %v", p.no, v)
			p.m.say("%s", debug.Stack())
		}
		p.over()
	}()
	e, err := newEngine(o)
	must2(err)
	p.m.mu.Lock()
	p.e, e.host = e, p.m.host(p.plan.contained)
	p.m.runs[e.sum.RunID] = p
	p.m.mu.Unlock()
	ctx := context.Background()
	err = e.run(ctx)
	e.sum.EndedAt = e.now()
	if err = e.finish(ctx, err); err != nil && !errors.Is(err, errFull) {
		panic(err)
	}
	p.m.mu.Lock()
	p.m.say("run %d is %s", p.no, e.sum.Result)
	p.m.mu.Unlock()
}

// over looks at what a run has left, dead or alive.
func (p *proc) over() {
	if p.e == nil || p.e.file == nil {
		return
	}
	path := p.e.file.path
	if p.dead {
		if p.plan.doom.reboots {
			p.m.reboot()
			p.tear(path)
		}
		defer p.e.file.keep() // only now others see that it is dead
	}
	if !exists(path) {
		return
	}
	kept := map[[2]int64]bool{} // by record and fence
	_, _, err := readJournal(path, func(l line) error {
		if l.End != nil {
			kept[[2]int64{l.ID, l.Fence}] = true
		}
		return nil
	})
	must2(err)
	now := p.m.entries()
	for _, f := range p.m.facts {
		for _, tr := range f.trials {
			e := now[tr.biz]
			open := e.Status == ledger.Running && e.Fence == tr.fence
			if tr.proc == p && (!tr.known || open && !kept[[2]int64{e.ID, tr.fence}]) {
				p.m.forgets(tr)
			}
		}
	}
}

// reboot ends all there is.
func (m *model) reboot() {
	m.boot++
	for id, tr := range m.alive {
		tr.living = false
		delete(m.alive, id)
	}
	m.say("the machine restarts")
}

// tear takes away what the machine didn't write of a journal before it died.
func (p *proc) tear(path string) {
	text, err := os.ReadFile(path)
	must2(err)
	head := bytes.IndexByte(text, '\n') + 1
	must2(os.Truncate(path, int64(max(head, len(text)-p.plan.doom.torn))))
}
