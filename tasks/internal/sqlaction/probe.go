package sqlaction

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"runner/ledger"
	"runner/runner"
)

// ProbeOptions say what a check or a compensation does.
type ProbeOptions struct {
	Address    func() (string, error)
	Dir        string
	Query      string   // of a check
	Statements []string // of a compensation
	Namespace  string   // of a guard that is asked
	Jobs       int
}

// probe is what a check, a compensation and a question to the guard have in
// common.
type probe struct {
	ProbeOptions
	once       sync.Once
	err        error
	pool       *pool
	statements []*statement
	read       func(g *grammar) ([]*statement, error)
	try        func(ctx context.Context, s session) error
}

// Prepare connects, and finds out whether the database takes what is asked.
func (p *probe) Prepare() error {
	p.once.Do(func() { p.err = p.prepare() })
	return p.err
}

func (p *probe) prepare() error {
	db, err := open(p.Address, p.Dir)
	if err != nil {
		return err
	}
	p.pool = newPool(db, p.Jobs)
	if p.statements, err = p.read(db.grammar()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTime)
	defer cancel()
	s, err := connect(ctx, db)
	if err != nil {
		return err
	}
	defer s.close() // nothing is open on it
	if p.try != nil {
		return p.try(ctx, s)
	}
	if len(p.statements) > 0 && p.statements[0].counts() {
		return s.prepare(ctx, p.statements[0])
	}
	return nil
}

// Close ends its connections.
func (p *probe) Close() error {
	if p.pool == nil {
		return nil
	}
	return p.pool.close()
}

// Check asks with a query: a row means applied, none absent. What goes wrong
// is no answer.
type Check struct{ probe }

// NewCheck makes a check.
func NewCheck(o ProbeOptions) *Check {
	return &Check{probe{ProbeOptions: o, read: func(g *grammar) ([]*statement, error) {
		s, err := g.query(o.Query)
		if err != nil {
			return nil, fmt.Errorf("query: %w", err)
		}
		return []*statement{s}, nil
	}}}
}

// Act asks for one record.
func (c *Check) Act(ctx context.Context, at runner.Attempt) runner.Result {
	if err := c.Prepare(); err != nil {
		return runner.Result{Outcome: ledger.Unclear, Error: "check: " + err.Error()}
	}
	args, err := values{rec: &at.Record}.bind(c.statements[0])
	r := runner.Result{Outcome: ledger.Absent}
	if err == nil {
		err = c.pool.do(ctx, true, func(s session) error {
			return s.query(ctx, c.statements[0], args, func(_ []string, row []*string) error {
				if r.Outcome == ledger.Absent {
					r.Outcome, r.Result = ledger.Applied, joined(row)
				}
				return nil
			})
		})
	}
	if err != nil {
		return runner.Result{Outcome: ledger.Unclear, Error: "check: " + whyEnded(ctx, at, err)}
	}
	return r
}

// GuardCheck asks the guard of the action itself.
type GuardCheck struct {
	probe
	mu   sync.Mutex
	made bool

	markers markers
}

// NewGuardCheck makes a check of the guards of a namespace.
func NewGuardCheck(o ProbeOptions) *GuardCheck {
	return &GuardCheck{probe: probe{
		ProbeOptions: o,
		read:         func(*grammar) ([]*statement, error) { return nil, nil },
		try:          func(ctx context.Context, s session) error { return tryGuards(ctx, s, o.Namespace) },
	}}
}

// Act asks for one record. It waits for a transaction that still holds the
// guard.
func (c *GuardCheck) Act(ctx context.Context, at runner.Attempt) runner.Result {
	err := c.Prepare()
	if err == nil {
		err = c.makeGuards(ctx)
	}
	var r runner.Result
	if err == nil {
		err = c.pool.do(ctx, false, func(s session) error {
			r, err = c.look(ctx, s, keyOf(c.Namespace, &at.Record))
			return err
		})
	}
	if err != nil {
		return runner.Result{Outcome: ledger.Unclear, Error: "guard: " + whyEnded(ctx, at, err)}
	}
	return r
}

// look asks for one guard. That it isn't there says nothing where guards were
// removed.
func (c *GuardCheck) look(ctx context.Context, s session, k guardKey) (r runner.Result, err error) {
	fresh, err := s.insertGuards(ctx, []guardKey{k})
	if err != nil || !fresh[0] {
		return runner.Result{Outcome: ledger.Applied}, err
	}
	gone, err := c.markers.hide(ctx, s, k)
	if gone {
		return runner.Result{Outcome: ledger.Unclear, Error: hidden(k)}, err
	}
	return runner.Result{Outcome: ledger.Absent}, err
}

// makeGuards makes the table of guards where an attempt was cut off before it
// did.
func (c *GuardCheck) makeGuards(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made {
		return nil
	}
	s, err := connect(ctx, c.pool.db)
	if err != nil {
		return err
	}
	defer s.close() // nothing is open on it
	err = s.makeGuards(ctx, false)
	c.made = err == nil
	return err
}

// Compensation undoes half an effect, in one transaction.
type Compensation struct{ probe }

// NewCompensation makes a compensation.
func NewCompensation(o ProbeOptions) *Compensation {
	return &Compensation{probe{ProbeOptions: o, read: func(g *grammar) ([]*statement, error) {
		var all []*statement
		for i, text := range o.Statements {
			s, err := g.action(text)
			if err != nil {
				return nil, fmt.Errorf("statement %d: %w", i+1, err)
			}
			all = append(all, s)
		}
		return all, nil
	}}}
}

// Act undoes for one record. Committed is done; all else is not.
func (c *Compensation) Act(ctx context.Context, at runner.Attempt) runner.Result {
	err := c.Prepare()
	if err == nil {
		err = c.pool.do(ctx, false, func(s session) error { return c.undo(ctx, s, at) })
	}
	switch {
	case err == nil:
		return runner.Result{Outcome: ledger.Succeeded}
	case uncertain(err):
		return runner.Result{Outcome: ledger.Unknown, Error: err.Error()}
	}
	return runner.Result{Outcome: ledger.FailedAttempt, Error: whyEnded(ctx, at, err)}
}

func (c *Compensation) undo(ctx context.Context, s session, at runner.Attempt) error {
	for i, st := range c.statements {
		args, err := values{rec: &at.Record}.bind(st)
		if err == nil {
			_, err = s.exec(ctx, st, args)
		}
		if err != nil {
			return fmt.Errorf("statement %d: %w", i+1, err)
		}
	}
	commit, cancel := unlessKilled(at.Kill, commitTime)
	defer cancel()
	return s.commit(commit)
}

// whyEnded is err, or why the attempt had to end before there was one.
func whyEnded(ctx context.Context, at runner.Attempt, err error) string {
	if why := context.Cause(ctx); errors.Is(why, runner.ErrTimeout) {
		return fmt.Sprintf("timeout after %s", at.Timeout)
	} else if why != nil {
		return why.Error()
	}
	return err.Error()
}
