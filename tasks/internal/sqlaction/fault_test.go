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
	if kind == "postgres" {
		direct := dbtest.Postgres(t)
		b := bedAt(t, kind, direct, direct)
		p, through := dbtest.ProxyPostgres(t, direct)
		b.address = through
		return b, p
	}
	m := dbtest.MariaDB(t)
	b := bedAt(t, kind, "", m.DSN)
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
