//go:build unix

package sqlaction

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"runner/ledger"
	"runner/runner"
)

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
