//go:build unix

package sqlaction

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runner/internal/dbtest"
	"runner/ledger"
	"runner/runner"
)

var book = []string{"INSERT INTO booking (account) VALUES (:biz_id)"}

// faulty is a database whose sessions commit as a test wants it.
type faulty struct {
	database
	commit func(ctx context.Context, s session) error
}

type faultySession struct {
	session
	db *faulty
}

func (d *faulty) open(ctx context.Context) (session, error) {
	s, err := d.database.open(ctx)
	return &faultySession{s, d}, err
}

func (s *faultySession) commit(ctx context.Context) error { return s.db.commit(ctx, s.session) }

var errBroken = errors.New("broken pipe")

// breakOnce breaks the connection in the middle of the first commit, before
// or after it has been done.
func breakOnce(done bool) func(ctx context.Context, s session) error {
	var once sync.Once
	return func(ctx context.Context, s session) (err error) {
		broke := false
		once.Do(func() {
			if broke = true; done {
				err = s.commit(ctx)
			}
			_ = s.close()
		})
		switch {
		case err != nil:
			return err
		case broke:
			return &commitError{errBroken, false}
		}
		return s.commit(ctx)
	}
}

func group(n int) (all []runner.Attempt) {
	for i := range n {
		all = append(all, attempt(fmt.Sprintf("r%02d", i)))
	}
	return all
}

func TestAConnectionLostDuringCommitIsSettledByTheGuard(t *testing.T) {
	for _, c := range []struct {
		name  string
		done  bool
		guard bool
		n     int
		want  string
		rows  int
	}{
		{"committed", true, true, 1, "succeeded applied", 1},
		{"not committed", false, true, 1, "failed commit: broken pipe; nothing was committed", 0},
		{"committed, of many", true, true, 30, "succeeded applied", 30},
		{"not committed, of many", false, true, 30, "succeeded applied", 30}, // one by one, at once
		{"no guard", true, false, 1, "unknown commit: broken pipe", 1},
		{"no guard, of many", true, false, 30, "unknown commit: broken pipe", 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, b *bed) {
				a := b.prepared(Options{Statements: book, Guard: c.guard, Batch: 100, Jobs: 1})
				a.db = &faulty{a.db, breakOnce(c.done)}
				x := &executor{Action: a}
				jobs := x.jobs(group(c.n))
				x.work(jobs)
				for _, j := range jobs {
					if got := short(<-j.done); got != c.want {
						t.Errorf("%s: got %s, want %s", j.key.bizID, got, c.want)
					}
				}
				x.drop()
				b.want("SELECT count(*) FROM booking", c.rows)
			})
		})
	}
}

// jobs makes jobs of attempts, as Act does.
func (x *executor) jobs(all []runner.Attempt) (jobs []*job) {
	for _, at := range all {
		jobs = append(jobs, &job{ctx: context.Background(), at: &at, values: values{rec: &at.Record}, key: keyOf(x.Namespace, &at.Record), done: make(chan runner.Result, 1)})
	}
	return jobs
}

func TestACommitThatCannotBeAskedAboutIsInDoubt(t *testing.T) {
	old := settleTime
	settleTime = 50 * time.Millisecond
	defer func() { settleTime = old }()
	onEach(t, func(t *testing.T, b *bed) {
		a := b.prepared(Options{Statements: book, Guard: true})
		down := &faulty{a.db, breakOnce(true)}
		a.db = &unreachable{down, false}
		down.commit = func(ctx context.Context, s session) error {
			err := breakOnce(true)(ctx, s)
			a.db.(*unreachable).down = true
			return err
		}
		r := act(a, attempt("a"))
		if r.Outcome != ledger.Unknown {
			t.Error(short(r))
		}
		check := NewGuardCheck(b.probeOptions())
		defer check.Close()
		b.wantResult(check, attempt("a"), "applied")
		b.wantResult(check, attempt("b"), "absent")
		b.want("SELECT count(*) FROM booking", 1)
	})
}

// unreachable is a database that can't be reached from some moment on.
type unreachable struct {
	database
	down bool
}

func (d *unreachable) open(ctx context.Context) (session, error) {
	if d.down {
		return nil, errBroken
	}
	return d.database.open(ctx)
}

// proxied is a bed whose database is reached through a proxy.
func proxied(t *testing.T, kind string) (*bed, *dbtest.Proxy) {
	t.Helper()
	b := newBed(t, kind)
	if kind == "postgres" {
		server := dbtest.StartPostgres(t, dbtest.Fast...)
		b.must(b.db.Close())
		b = bedAt(t, kind, server.Address, server.Address)
		p, through := dbtest.ProxyPostgres(t, server.Address)
		b.address = through
		return b, p
	}
	m := dbtest.MariaDB(t)
	b.must(b.db.Close())
	b = bedAt(t, kind, "", m.DSN)
	p := dbtest.NewProxy(t, "unix", m.Socket)
	b.address = "mysql://root@" + p.Address() + "/" + m.Name
	return b, p
}

// The network cuts after the server has committed, and nobody hears of it.
func TestACommitWhoseAnswerIsLost(t *testing.T) {
	for _, kind := range []string{"postgres", "mysql"} {
		for _, n := range []int{1, 20} {
			t.Run(fmt.Sprint(kind, " ", n), func(t *testing.T) {
				b, p := proxied(t, kind)
				a := b.prepared(Options{Statements: book, Guard: true, Batch: 100, Jobs: 1})
				var armed atomic.Bool
				var cuts atomic.Int64
				p.Watch(func(fromServer bool, _ []byte) dbtest.Fate {
					if !fromServer || !armed.CompareAndSwap(true, false) {
						return dbtest.Pass
					}
					cuts.Add(1)
					return dbtest.Cut
				})
				a.db = &faulty{a.db, func(ctx context.Context, s session) error {
					armed.Store(cuts.Load() == 0)
					return s.commit(ctx)
				}}
				for _, r := range actAll(a, group(n)) {
					if got := short(r); got != "succeeded applied" {
						t.Error(got)
					}
				}
				if cuts.Load() == 0 {
					t.Error("nothing was cut")
				}
				b.want("SELECT count(*) FROM booking", n)
			})
		}
	}
}

func TestADatabaseThatGoesAwayAndComesBack(t *testing.T) {
	for _, kind := range []string{"postgres", "mysql"} {
		t.Run(kind, func(t *testing.T) {
			b, p := proxied(t, kind)
			a := b.prepared(Options{Statements: book, Guard: true, Batch: 10})
			b.wantResult(a, attempt("a"), "succeeded applied")
			p.Cut() // what is idle is dead: it is done on a new connection
			b.wantResult(a, attempt("b"), "succeeded applied")
			p.SetDown(true)
			for _, r := range actAll(a, group(5)) {
				var c *ConnectError
				if r.Outcome != ledger.NotStarted || r.Halt {
					t.Errorf("got %s, %v", short(r), errors.As(a.Prepare(), &c))
				}
			}
			p.SetDown(false)
			for _, r := range actAll(a, group(5)) {
				if got := short(r); got != "succeeded applied" {
					t.Error(got)
				}
			}
			b.want("SELECT count(*) FROM booking", 7)
		})
	}
}

func TestWhatIsInTheWayOfOthersIsTriedAgain(t *testing.T) {
	for kind, o := range map[string]Options{
		"postgres": {Statements: []string{"UPDATE account SET balance = balance + 1 WHERE id = 'x'"}},
		"mysql":    {Statements: []string{"UPDATE account SET balance = balance + 1 WHERE id = :first", "UPDATE account SET balance = balance + 1 WHERE id = :second"}},
	} {
		for _, batch := range []int{1, 5} {
			t.Run(fmt.Sprint(kind, " ", batch), func(t *testing.T) {
				b := newBed(t, kind)
				b.exec("INSERT INTO account (id, balance) VALUES ('x', 0), ('y', 0)")
				if kind == "postgres" {
					b.address += "&default_transaction_isolation=serializable"
				}
				o.Guard, o.Jobs, o.Batch = true, 8, batch
				a := b.prepared(o)
				const n = 60
				open := group(n)
				for i := range open {
					open[i].Fields = map[string]string{"first": "xy"[i%2 : i%2+1], "second": "yx"[i%2 : i%2+1]}
				}
				for round := 0; len(open) > 0 && round < 100; round++ {
					var left []runner.Attempt
					for i, r := range actAll(a, open) {
						switch {
						case r.Outcome == ledger.AskedLater && r.RetryAfter > 0:
							left = append(left, open[i])
						case r.Outcome != ledger.Succeeded || r.Detail != ledger.DetailApplied:
							t.Fatal(short(r))
						}
					}
					open = left
				}
				b.want("SELECT balance FROM account WHERE id = 'x'", n)
			})
		}
	}
}

func TestABusySQLiteIsWaitedForAndThenLeftForLater(t *testing.T) {
	old := busyTime
	busyTime = 20 * time.Millisecond
	defer func() { busyTime = old }()
	for _, batch := range []int{1, 10} {
		b := newBed(t, "sqlite")
		a := b.prepared(Options{Statements: book, Guard: true, Batch: batch})
		c, err := b.db.Conn(context.Background())
		b.must(err)
		_, err = c.ExecContext(context.Background(), "BEGIN IMMEDIATE")
		b.must(err)
		for _, r := range actAll(a, group(3)) {
			if r.Outcome != ledger.AskedLater {
				t.Error(short(r))
			}
		}
		busyTime = 10 * time.Second
		done := make(chan string)
		go func() { done <- short(act(a, attempt("w"))) }()
		_, err = c.ExecContext(context.Background(), "COMMIT")
		b.must(err)
		b.must(c.Close())
		if got := <-done; got != "succeeded applied" {
			t.Error(got)
		}
		busyTime = 20 * time.Millisecond
	}
}

// A trigger of SQLite that rolls back ends the transaction under our feet:
// what follows must not be committed by itself.
func TestATriggerThatRollsBackTakesNobodyElseAlong(t *testing.T) {
	b := newBed(t, "sqlite")
	b.exec("CREATE TRIGGER no BEFORE INSERT ON booking WHEN new.account = 'r03' BEGIN SELECT RAISE(ROLLBACK, 'no r03'); END")
	for _, statements := range [][]string{book, {"INSERT INTO account (id, balance) VALUES (:biz_id, 0)", book[0]}} {
		b.exec("DELETE FROM booking")
		a := b.prepared(Options{Statements: statements, Guard: true, Batch: 10, Namespace: fmt.Sprint(len(statements))})
		for i, r := range actAll(a, group(10)) {
			if want := i != 3; (r.Outcome == ledger.Succeeded) != want {
				t.Errorf("%d: %s", i, short(r))
			}
		}
		b.want("SELECT count(*) FROM booking", 9)
	}
	b.want("SELECT count(*) FROM account", 9)
	b.want("SELECT count(*) FROM runner_effects", 18)
}

func TestManyMakeTheTableOfGuardsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		var wg sync.WaitGroup
		for i := range 12 {
			a := b.action(Options{Statements: book, Guard: true, Namespace: fmt.Sprint(i)})
			wg.Go(func() {
				if got := short(act(a, attempt("a"))); got != "succeeded applied" {
					t.Error(got)
				}
			})
		}
		wg.Wait()
		b.want("SELECT count(*) FROM runner_effects", 12)
	})
}

// The guard is held by a transaction that nobody hears of any more.
func TestTheGuardIsAskedAfterATransactionThatStillHoldsIt(t *testing.T) {
	for end, want := range map[string]string{"COMMIT": "applied", "ROLLBACK": "absent"} {
		onEach(t, func(t *testing.T, b *bed) {
			b.prepared(Options{Statements: book, Guard: true})
			db, err := newDatabase(b.address, "")
			b.must(err)
			defer db.close()
			ctx := context.Background()
			s, err := db.open(ctx)
			b.must(err)
			defer s.close()
			b.must(s.makeGuards(ctx, false))
			b.must(s.begin(ctx, false))
			at := attempt("a")
			if fresh, err := s.insertGuards(ctx, []guardKey{keyOf("", &at.Record)}); err != nil || !fresh[0] {
				t.Fatal(fresh, err)
			}
			check := NewGuardCheck(b.probeOptions())
			defer check.Close()
			answer := make(chan string)
			go func() { answer <- short(act(check, at)) }()
			b.must(s.control(ctx, end))
			if got := <-answer; got != want {
				t.Errorf("after %s: got %s", end, got)
			}
		})
	}
}

func TestTablesWithoutTransactionsAreRefused(t *testing.T) {
	b := newBed(t, "mysql")
	b.exec("CREATE TABLE old (id integer) ENGINE=MyISAM")
	for _, s := range []string{"INSERT INTO old VALUES (1)", "INSERT INTO `old` VALUES (1)", "UPDATE account a JOIN OLD o ON o.id = 1 SET a.balance = 2"} {
		err := b.action(Options{Statements: []string{s}, Guard: true}).Prepare()
		if err == nil || short(runner.Result{Error: err.Error()}) == "" {
			t.Errorf("%s: taken", s)
		}
	}
	b.prepared(Options{Statements: book, State: "SELECT count(*) FROM old", Guard: true}) // it only looks
	b.exec("CREATE TABLE runner_effects (namespace int, task_name int, biz_id int, execute_date int, generation int) ENGINE=MyISAM")
	if err := b.action(Options{Statements: book, Guard: true}).Prepare(); err == nil {
		t.Error("guards in a table without transactions")
	}
}

func TestAnAttemptThatWaitsForItsTurnCanBeEnded(t *testing.T) {
	b := newBed(t, "sqlite")
	a := b.prepared(Options{Statements: book, Guard: true})
	c, err := b.db.Conn(context.Background())
	b.must(err)
	defer c.Close()
	_, err = c.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	b.must(err)
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan string)
	for i := range 3 {
		go func() { done <- short(a.Act(ctx, attempt(fmt.Sprint(i)))) }()
	}
	cancel(runner.ErrInterrupted)
	for range 3 {
		if got := <-done; got != "not_started interrupted; nothing was committed" {
			t.Error(got)
		}
	}
}
