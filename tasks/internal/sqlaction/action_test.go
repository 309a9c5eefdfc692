//go:build unix

package sqlaction

import (
	"fmt"
	"strings"
	"testing"

	"runner/ledger"
	"runner/runner"
)

// closing is the state machine of an order: only one that waits is closed.
const closing = "UPDATE account SET note = 'CLOSED' WHERE id = :biz_id AND note = 'WAIT'"

func TestAnEffectHappensOnceWhateverBecomesOfTheLedger(t *testing.T) {
	onEach(t, func(_ *testing.T, b *bed) {
		b.exec("INSERT INTO account (id, balance) VALUES ('a', 100)")
		a := b.prepared(Options{Statements: []string{"UPDATE account SET balance = balance - :amount WHERE id = :biz_id"}, Guard: true})
		at := attempt("a", "amount", "30")
		b.wantResult(a, at, "succeeded applied")
		for range 3 { // nobody remembers
			b.wantResult(b.action(a.Options), at, "succeeded already")
		}
		b.want("SELECT balance FROM account", 70)
		at.Generation = 2 // a person wants it again
		b.wantResult(a, at, "succeeded applied")
		b.want("SELECT balance FROM account", 40)
	})
}

// Case 54: two tasks close the same order.
func TestTwoTasksThatCloseTheSameOrder(t *testing.T) {
	onEach(t, func(_ *testing.T, b *bed) {
		b.exec("INSERT INTO account (id, balance, note) VALUES ('o1', 0, 'WAIT'), ('o2', 0, 'PAID')")
		a := b.prepared(Options{Statements: []string{closing, "INSERT INTO booking (account) VALUES (:biz_id)"}, State: "SELECT note, balance FROM account WHERE id = :biz_id", Guard: true})
		b.wantResult(a, attempt("o1"), "succeeded applied")
		b.wantResult(a, attempt("o2"), "succeeded noop PAID, 0")
		b.wantResult(a, attempt("o3"), "succeeded noop")
		other := attempt("o1")
		other.TaskName = "another"
		b.wantResult(a, other, "succeeded noop CLOSED, 0")
		b.want("SELECT count(*) FROM booking", 1) // the other statements are left out
	})
}

// Case 55: an UPDATE with unchanged values. A row that is found counts on
// MySQL too, as it does elsewhere.
func TestAnUpdateThatChangesNothingFindsItsRow(t *testing.T) {
	onEach(t, func(_ *testing.T, b *bed) {
		b.exec("INSERT INTO account (id, balance, note) VALUES ('a', 1, 'CLOSED')")
		same := b.prepared(Options{Statements: []string{"UPDATE account SET note = 'CLOSED' WHERE id = :biz_id AND note = 'CLOSED'", "INSERT INTO booking (account) VALUES (:biz_id)"}, Guard: true})
		b.wantResult(same, attempt("a"), "succeeded applied")
		lock := b.prepared(Options{
			Read: "SELECT version FROM account WHERE id = :biz_id", OnNoRows: Retry,
			Statements: []string{"UPDATE account SET balance = 1 WHERE id = :biz_id AND version = :version"}, Guard: true,
		})
		at := attempt("a")
		at.Generation = 2
		b.wantResult(lock, at, "succeeded applied")
	})
}

// Case 81: two projects use the same task name on one database.
func TestANamespaceKeepsProjectsApart(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		b.exec("INSERT INTO account (id, balance) VALUES ('a', 0)")
		add := []string{"UPDATE account SET balance = balance + 1 WHERE id = :biz_id"}
		for _, namespace := range []string{"", "x", "X", "x ", "é"} {
			a := b.prepared(Options{Statements: add, Guard: true, Namespace: namespace})
			b.wantResult(a, attempt("a"), "succeeded applied")
			b.wantResult(a, attempt("a"), "succeeded already")
		}
		b.want("SELECT balance FROM account", 5)
		long := b.action(Options{Statements: add, Guard: true, Namespace: strings.Repeat("x", 256)})
		if err := long.Prepare(); err == nil || !strings.Contains(err.Error(), "namespace") {
			t.Errorf("a namespace that doesn't fit: %v", err)
		}
	})
}

func TestAGuardTellsApartWhatDiffersInOneByte(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		a := b.prepared(Options{Statements: []string{"INSERT INTO booking (account) VALUES (:n)"}, Guard: true})
		ids := []string{"a", "A", "a ", "á", "a\u0301", "ａ", "😀", "😁", "0010", "10", strings.Repeat("你", 170) + "ab", strings.Repeat("你", 170) + "aB", `a"b`, `a\b`, "<&>"}
		for i, id := range ids {
			b.wantResult(a, attempt(id, "n", fmt.Sprint(i)), "succeeded applied")
		}
		all := make([]runner.Attempt, len(ids))
		for i, id := range ids {
			all[i] = attempt(id, "n", fmt.Sprint(i))
		}
		for i, r := range actAll(b.prepared(Options{Statements: a.Statements, Guard: true, Batch: 50}), all) {
			if short(r) != "succeeded already" {
				t.Errorf("%q: %s", ids[i], short(r))
			}
		}
		b.want("SELECT count(*) FROM runner_effects", len(ids))
	})
}

func TestWhatItMeansThatNoRowIsFound(t *testing.T) {
	for _, c := range []struct {
		noRows NoRows
		batch  int
		want   string
		guards int
	}{
		{Noop, 1, "succeeded noop", 2}, {"", 200, "succeeded noop", 2},
		{Retry, 1, "failed no row was found", 0}, {Retry, 200, "failed no row was found", 0},
		{Fail, 1, "failed_for_good no row was found", 0}, {Fail, 200, "failed_for_good no row was found", 0},
	} {
		onEach(t, func(t *testing.T, b *bed) {
			a := b.prepared(Options{Statements: []string{closing}, OnNoRows: c.noRows, Guard: true, Batch: c.batch})
			for _, r := range actAll(a, []runner.Attempt{attempt("x"), attempt("y")}) {
				if short(r) != c.want {
					t.Errorf("%+v: got %s", c, short(r))
				}
			}
			b.want("SELECT count(*) FROM runner_effects", c.guards)
		})
	}
}

func TestOptimisticLockingReadsAgain(t *testing.T) {
	onEach(t, func(_ *testing.T, b *bed) {
		b.exec("INSERT INTO account (id, balance, version) VALUES ('a', 100, 7)")
		a := b.prepared(Options{
			Read: "SELECT version, balance - 10 AS rest, note FROM account WHERE id = :account", OnNoRows: Retry, Guard: true,
			Statements: []string{
				"UPDATE account SET balance = :rest, version = version + 1, note = :note WHERE id = :account AND version = CAST(:version AS integer) + CAST(:off AS integer)",
				"INSERT INTO booking (account, ref) VALUES (:account, :idempotency_key)",
			},
		})
		b.wantResult(a, attempt("d1", "account", "a", "off", "1"), "failed no row was found")
		b.want("SELECT count(*) FROM booking", 0)
		b.wantResult(a, attempt("d1", "account", "a", "off", "0"), "succeeded applied")
		b.wantResult(a, attempt("d2", "account", "a", "off", "0"), "succeeded applied")
		b.wantResult(a, attempt("d3", "account", "none", "off", "0"), "failed no row was found")
		b.want("SELECT balance FROM account WHERE note IS NULL AND version = 9", 80)
		b.exec("INSERT INTO account (id, balance) VALUES ('b', 1)")
		two := b.prepared(Options{Read: "SELECT id FROM account", Statements: []string{"DELETE FROM account WHERE id = :id"}, Guard: true})
		b.wantResult(two, attempt("d4"), "failed_for_good read: it gives 2 rows, and should give one")
	})
}

func TestValuesOfARecord(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		a := b.prepared(Options{Statements: []string{"INSERT INTO account (id, balance, version, note) VALUES (:biz_id, :n, :generation, :note)"}, Guard: true})
		at := attempt("a", "n", "5", "note", "null")
		b.wantResult(a, at, "succeeded applied") // the text null
		at = attempt("b", "n", "5", "note", "null")
		at.Payload = []byte(`{"n":5,"note":null}`)
		b.wantResult(a, at, "succeeded applied")
		b.want("SELECT count(*) FROM account WHERE note IS NULL", 1)
		b.want("SELECT count(*) FROM account WHERE note = 'null'", 1)
		for _, evil := range []string{`'); DROP TABLE account; --`, `\'; x`, `"`, "a\nb", "汉字😀"} {
			b.wantResult(a, attempt("e"+evil, "n", "1", "note", evil), "succeeded applied")
		}
		b.want("SELECT count(*) FROM account WHERE version = 1", 7)
		for _, batch := range []int{1, 2} {
			missing := b.prepared(Options{Statements: a.Statements, Guard: true, Batch: batch})
			all := actAll(missing, []runner.Attempt{attempt("m", "n", "1"), attempt("f", "n", "1", "note", "")})
			want := "failed_for_good statement: the record has no :note; it has :biz_id, :execute_date, :task_name, :generation, :idempotency_key, :n"
			if got := short(all[0]); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if all[1].Outcome != ledger.Succeeded {
				t.Errorf("got %s", short(all[1]))
			}
		}
	})
}

func TestWithoutAGuardARowThatIsThereIsAnEarlierEffect(t *testing.T) {
	for _, batch := range []int{1, 10} {
		onEach(t, func(t *testing.T, b *bed) {
			a := b.prepared(Options{Statements: []string{"INSERT INTO account (id, balance) VALUES (:biz_id, 0)"}, Batch: batch})
			for range 2 {
				var all []runner.Attempt
				for i := range 5 {
					all = append(all, attempt(fmt.Sprint(i)))
				}
				for _, r := range actAll(a, all) {
					if r.Outcome != ledger.Succeeded {
						t.Error(short(r))
					}
				}
			}
			b.wantResult(a, attempt("1"), "succeeded already")
			b.wantResult(a, attempt("9"), "succeeded applied")
			b.want("SELECT count(*) FROM account", 6)
			if err := b.db.QueryRow("SELECT count(*) FROM runner_effects").Scan(new(int)); err == nil {
				t.Error("there is a table of guards, and none is asked")
			}
		})
	}
}
