//go:build unix

package sqlaction

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"runner/ledger"
	"runner/runner"
)

func TestAFailingStatementLeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		a := b.prepared(Options{Statements: []string{"INSERT INTO account (id, balance) VALUES (:biz_id, 0)", "INSERT INTO booking (account) VALUES (:to)"}, Guard: true})
		r := act(a, attempt("x", "to", "bad"))
		if r.Outcome != ledger.FailedAttempt || !strings.HasPrefix(r.Error, "statement 2: ") {
			t.Error(short(r))
		}
		b.want("SELECT count(*) FROM account", 0)
		b.want("SELECT count(*) FROM runner_effects", 0)
		b.wantResult(a, attempt("x", "to", "good"), "succeeded applied")
	})
}

func TestAFailingRecordIsAloneInItsBatch(t *testing.T) {
	for name, statements := range map[string][]string{
		"one statement":   {"INSERT INTO booking (account) VALUES (:to)"},
		"many statements": {"INSERT INTO account (id, balance) VALUES (:biz_id, 0)", "INSERT INTO booking (account) VALUES (:to)"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, b *bed) {
				a := b.prepared(Options{Statements: statements, Guard: true, Batch: 20, Jobs: 1})
				var all []runner.Attempt
				for i := range 60 {
					to := "good"
					if i%7 == 3 {
						to = "bad"
					}
					all = append(all, attempt(fmt.Sprintf("r%02d", i), "to", to))
				}
				good := 0
				for i, r := range actAll(a, all) {
					want := ledger.Succeeded
					if all[i].Fields["to"] == "bad" {
						want = ledger.FailedAttempt
					} else {
						good++
					}
					if r.Outcome != want {
						t.Errorf("%d: %s", i, short(r))
					}
				}
				b.want("SELECT count(*) FROM booking WHERE account = 'good'", good)
				b.want("SELECT count(*) FROM runner_effects", good)
				if len(statements) > 1 {
					b.want("SELECT count(*) FROM account", good)
				}
			})
		})
	}
}

func TestABatchInWhichAllIsThereAlready(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		a := b.prepared(Options{Statements: []string{"INSERT INTO booking (account) VALUES (:biz_id)"}, Guard: true, Batch: 7})
		var all []runner.Attempt
		for i := range 50 {
			all = append(all, attempt(fmt.Sprint("r", i)))
		}
		for round, want := range []string{"succeeded applied", "succeeded already"} {
			for _, r := range actAll(a, all) {
				if short(r) != want {
					t.Errorf("round %d: %s", round, short(r))
				}
			}
		}
		all = append(all, attempt("new"))
		results := actAll(a, all)
		if got := short(results[50]); got != "succeeded applied" {
			t.Error(got)
		}
		b.want("SELECT count(*) FROM booking", 51)
	})
}

func TestASelectIsAnAction(t *testing.T) {
	onEach(t, func(_ *testing.T, b *bed) {
		b.exec("INSERT INTO account (id, balance) VALUES ('a', 1)")
		a := b.prepared(Options{Statements: []string{"SELECT id FROM account WHERE id = :biz_id"}, Guard: true})
		b.wantResult(a, attempt("a"), "succeeded applied")
		b.wantResult(a, attempt("b"), "succeeded noop")
		w := b.prepared(Options{Statements: []string{"WITH x AS (SELECT 1 AS n) SELECT n FROM x WHERE n = :n"}, Guard: true})
		b.wantResult(w, attempt("c", "n", "1"), map[string]string{"sqlite": "succeeded noop"}[b.kind]+map[string]string{"mysql": "succeeded applied", "postgres": "succeeded applied"}[b.kind])
	})
}

func TestAnInterruptedAttemptIsTakenBack(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		slow := map[string]string{
			"sqlite":   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) INSERT INTO booking SELECT max(i), 1 FROM n",
			"postgres": "SELECT pg_sleep(60)", "mysql": "SELECT sleep(60) FROM account",
		}[b.kind]
		b.exec("INSERT INTO account (id, balance) VALUES ('a', 1)")
		a := b.prepared(Options{Statements: []string{"UPDATE account SET balance = 2", slow}, Guard: true})
		for cause, want := range map[error]string{
			runner.ErrTimeout:     "failed timeout after 1s; nothing was committed",
			runner.ErrInterrupted: "not_started interrupted; nothing was committed",
		} {
			ctx, cancel := context.WithCancelCause(context.Background())
			at := attempt("a")
			at.Timeout = 1e9
			ended := make(chan string)
			go func() { ended <- short(a.Act(ctx, at)) }()
			b.awaitBusy()
			cancel(cause)
			if got := <-ended; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			b.want("SELECT balance FROM account", 1)
		}
	})
}

func TestWhatCannotBeUsedIsFoundBeforeAnythingRuns(t *testing.T) {
	insert := []string{"INSERT INTO booking (account) VALUES (:biz_id)"}
	onEach(t, func(t *testing.T, b *bed) {
		for name, o := range map[string]Options{
			"statement":    {Statements: []string{"INSERT INTO bookinx (account) VALUES (:biz_id)"}, Guard: true},
			"read":         {Statements: insert, Read: "SELECT x FROM nothing", Guard: true},
			"statement 2:": {Statements: []string{insert[0], "COMMIT"}, Guard: true},
			"state":        {Statements: insert, State: "DELETE FROM booking", Guard: true},
		} {
			if err := b.action(o).Prepare(); err == nil || !strings.HasPrefix(err.Error(), name) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		b.exec("CREATE TABLE runner_effects (x integer)")
		err := b.action(Options{Statements: insert, Guard: true}).Prepare()
		var g *GuardError
		if !errors.As(err, &g) {
			t.Errorf("a strange table of guards: %v", err)
		}
	})
}

func TestPrepareChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		b.prepared(Options{Statements: []string{"INSERT INTO booking (account) VALUES (:biz_id)"}, Guard: true})
		if err := b.db.QueryRow("SELECT count(*) FROM runner_effects").Scan(new(int)); err == nil {
			t.Error("there is a table of guards")
		}
	})
}
