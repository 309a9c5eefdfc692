package sqlaction

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"runner/ledger"
	"runner/runner"
)

// NoRows says what it means that the first statement finds no row.
type NoRows string

// The values of NoRows. The empty one is Noop.
const (
	Noop  NoRows = "noop"  // there is nothing to do: done
	Retry NoRows = "retry" // the attempt failed
	Fail  NoRows = "fail"  // the record failed for good
)

// Options say what an action does.
type Options struct {
	// Address gives that of the database, with all that is secret in it. It is
	// asked once, by Prepare.
	Address func() (string, error)
	Dir     string // of relative SQLite files

	Statements []string
	Read       string // a query whose columns become parameters; empty: none
	State      string // a query that tells why there was no row; empty: none
	OnNoRows   NoRows
	Guard      bool
	Namespace  string
	Batch      int // records in one transaction, at most
	Jobs       int // transactions at once, at most
}

// Times that the package takes by itself.
const (
	connectTime = 10 * time.Second
	commitTime  = 30 * time.Second
	// aWhile is how long a record that was in the way of others, several
	// times, is left alone.
	aWhile = 2 * time.Second
	// tries is how often a transaction is tried whose connection is lost.
	tries = 5
)

// settleTime is how long it is asked whether a transaction was committed.
var settleTime = 30 * time.Second

// Action executes the statements of a task.
type Action struct {
	Options
	once sync.Once
	err  error
	db   database

	first *statement   // on_no_rows judges it
	more  []*statement // that follow
	read  *statement   // nil: none
	state *statement   // nil: none

	waiting chan *job
	start   sync.Once
	quit    chan struct{}
	closing sync.Once
	working sync.WaitGroup

	guardsMu   sync.Mutex
	guardsMade bool
	markers    markers
}

// New makes an action. Nothing is looked at before its Prepare.
func New(o Options) *Action {
	return &Action{Options: o, waiting: make(chan *job), quit: make(chan struct{})}
}

// Prepare reads the statements, connects, and finds out whether the database
// takes them. It changes nothing.
func (a *Action) Prepare() error {
	a.once.Do(func() { a.err = a.prepare() })
	return a.err
}

func (a *Action) prepare() (err error) {
	if a.db, err = open(a.Address, a.Dir); err != nil {
		return err
	}
	if err := a.parse(); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := connect(ctx, a.db)
	if err != nil {
		return err
	}
	defer s.close() // nothing is open on it
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := a.tryStatements(ctx, s); err != nil {
		return err
	}
	if a.Guard {
		return tryGuards(ctx, s, a.Namespace)
	}
	return nil
}

func open(address func() (string, error), dir string) (database, error) {
	text, err := address()
	if err != nil {
		return nil, err
	}
	return newDatabase(text, dir)
}

func (a *Action) parse() error {
	g := a.db.grammar()
	for i, text := range a.Statements {
		s, err := g.action(text)
		if err != nil {
			return fmt.Errorf("%s: %w", a.called(i), err)
		}
		if i == 0 {
			a.first = s
		} else {
			a.more = append(a.more, s)
		}
	}
	for _, q := range []struct {
		name, text string
		into       **statement
	}{{"read", a.Read, &a.read}, {"state", a.State, &a.state}} {
		if q.text == "" {
			continue
		}
		s, err := g.query(q.text)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		*q.into = s
	}
	return nil
}

// called names a statement in errors.
func (a *Action) called(i int) string {
	if len(a.Statements) == 1 {
		return "statement"
	}
	return fmt.Sprintf("statement %d", i+1)
}

// tryStatements asks the database what it thinks of what is executed first:
// what follows may need what that makes.
func (a *Action) tryStatements(ctx context.Context, s session) error {
	var names []string
	for _, st := range append([]*statement{a.first}, a.more...) {
		names = append(names, st.names...)
	}
	odd, err := s.untransactional(ctx, names)
	switch {
	case err != nil:
		return err
	case len(odd) > 0:
		return fmt.Errorf("the table %s takes part in no transaction: what is done to it can't be taken back (ALTER TABLE %s ENGINE=InnoDB)", odd[0], odd[0])
	}
	if a.read != nil {
		if err := s.prepare(ctx, a.read); err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
	if a.first.counts() {
		if err := s.prepare(ctx, a.first); err != nil {
			return fmt.Errorf("%s: %w", a.called(0), err)
		}
	}
	return nil
}

// Act waits for a place in a transaction, and tells what became of it.
func (a *Action) Act(ctx context.Context, at runner.Attempt) runner.Result {
	if err := a.Prepare(); err != nil {
		return runner.Result{Outcome: ledger.NotStarted, Error: err.Error(), Halt: true}
	}
	a.start.Do(a.startExecutors)
	j := &job{ctx: ctx, at: &at, values: values{rec: &at.Record}, key: keyOf(a.Namespace, &at.Record), done: make(chan runner.Result, 1)}
	select {
	case a.waiting <- j:
		return <-j.done
	case <-ctx.Done():
		return j.stopped()
	case <-a.quit:
		return runner.Result{Outcome: ledger.NotStarted, Error: "the action is closed"}
	}
}

// Close ends the executors and their connections. No attempt is left then.
func (a *Action) Close() error {
	a.closing.Do(func() { close(a.quit) })
	a.working.Wait()
	if a.db == nil {
		return nil
	}
	return a.db.close()
}

// makeGuards makes the table of guards before the first transaction.
func (a *Action) makeGuards(ctx context.Context, s session) error {
	a.guardsMu.Lock()
	defer a.guardsMu.Unlock()
	if !a.Guard || a.guardsMade {
		return nil
	}
	err := s.makeGuards(ctx, false)
	a.guardsMade = err == nil
	return err
}

// job is an attempt on its way.
type job struct {
	values
	ctx  context.Context
	at   *runner.Attempt
	key  guardKey
	done chan runner.Result
	// result is what it will be if the transaction is committed; nil: it isn't
	// known yet.
	result *runner.Result
	final  bool // and whether it is committed or not
}

// stopped is the result of an attempt that was ended before its transaction
// was committed: nothing of it is left.
func (j *job) stopped() runner.Result {
	if context.Cause(j.ctx) == runner.ErrTimeout {
		return runner.Result{Outcome: ledger.FailedAttempt, Error: fmt.Sprintf("timeout after %s; nothing was committed", j.at.Timeout)}
	}
	return runner.Result{Outcome: ledger.NotStarted, Error: "interrupted; nothing was committed"}
}

// pause waits for about d, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
