package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"runner/internal/dbtest"
	"runner/ledger"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func number(t testing.TB, at, query string) (n int64) {
	t.Helper()
	c, err := pgx.Connect(ctx, at)
	must(t, err)
	defer c.Close(ctx)
	must(t, c.QueryRow(ctx, query).Scan(&n))
	return n
}

// as is an address with another role.
func as(at, role string) string { return strings.Replace(at, "//postgres@", "//"+role+"@", 1) }

// role makes a role for a test.
func role(t *testing.T, at, name string) string {
	t.Helper()
	name = fmt.Sprintf("%s_%d", name, number(t, at, "SELECT (random()*1000000000)::int"))
	dbtest.Exec(t, at, "CREATE ROLE "+name+" LOGIN")
	t.Cleanup(func() { dbtest.Exec(t, at, "DROP OWNED BY "+name, "DROP ROLE "+name) })
	return name
}

func TestALedgerIsMadeOnlyWhereItMayBe(t *testing.T) {
	at := dbtest.Postgres(t)
	for _, o := range []Options{{}, {ReadOnly: true}, {ReadOnly: true, Create: true}} {
		if _, err := Open(ctx, at, o); !errors.Is(err, ledger.ErrNoLedger) {
			t.Errorf("%+v: got %v, want no ledger", o, err)
		}
	}
	if n := number(t, at, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
		t.Fatalf("%d tables were made", n)
	}
	s := openAt(t, at, Options{Create: true})
	again := openAt(t, at, Options{Create: true})
	if !s.Created() || again.Created() || s.ID() == "" || s.ID() != again.ID() {
		t.Errorf("created %v and then %v, ids %q and %q", s.Created(), again.Created(), s.ID(), again.ID())
	}
	r := openAt(t, at, Options{ReadOnly: true})
	unusable(t, r.Update(ctx, func(ledger.Tx) error { return nil }), "read-only")
}

func TestARoleWithoutDDLRightsWorksOnAMigratedLedger(t *testing.T) {
	at := dbtest.Postgres(t)
	dbtest.Exec(t, at, "REVOKE CREATE ON SCHEMA public FROM public", "REVOKE TEMPORARY ON DATABASE "+database(t, at)+" FROM public")
	worker := role(t, at, "worker")
	_, err := Open(ctx, as(at, worker), Options{Create: true})
	unusable(t, err, "may not change them")

	openAt(t, at, Options{Create: true})
	_, err = Open(ctx, as(at, worker), Options{})
	unusable(t, err, "has not the rights")

	dbtest.Exec(t, at, "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO "+worker)
	s := openAt(t, as(at, worker), Options{Create: true})
	_, e := planned(t, s, "a", "b")
	update(t, s, func(tx ledger.Tx) error {
		line := ledger.Attempt{RecordID: e[0].ID, Fence: 1, RunID: "run-1", Output: "text"}
		return errors.Join(claim(tx, e[0], "run-1"), tx.PutRun(&ledger.Run{ID: "run-1"}), tx.AddAttempts([]ledger.Attempt{line}))
	})

	unusable(t, s.MayForget(ctx), "may not DELETE on record, DELETE on attempt, DELETE on output")
	dbtest.Exec(t, at, "GRANT DELETE ON record, attempt, output TO "+worker)
	must(t, s.MayForget(ctx))

	reader := role(t, at, "reader")
	dbtest.Exec(t, at, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+reader)
	if n := len(entries(t, openAt(t, as(at, reader), Options{ReadOnly: true}))); n != 2 {
		t.Errorf("the reader sees %d records, want 2", n)
	}
	w := openAt(t, as(at, reader), Options{})
	unusable(t, w.Update(ctx, func(tx ledger.Tx) error { return claim(tx, e[1], "run-1") }), "has not the rights")
}

func database(t *testing.T, at string) string {
	t.Helper()
	c, err := pgx.ParseConfig(at)
	must(t, err)
	return c.Database
}

func TestTheSearchPathIsRespected(t *testing.T) {
	at := dbtest.Postgres(t)
	own := role(t, at, "own")
	dbtest.Exec(t, at, "CREATE SCHEMA one", "CREATE SCHEMA two AUTHORIZATION "+own, "ALTER ROLE "+own+" SET search_path = two")
	stores := map[string]*Store{
		"one": openAt(t, at+"&search_path=one", Options{Create: true}), // as the address says
		"two": openAt(t, as(at, own), Options{Create: true}),           // as the role says
	}
	for name, s := range stores {
		planned(t, s, name)
		if n := number(t, at, "SELECT count(*) FROM "+name+".record WHERE biz_id = '"+name+"'"); n != 1 {
			t.Errorf("%s holds %d records, want 1", name, n)
		}
	}
	_, err := Open(ctx, at+"&search_path=three", Options{Create: true})
	unusable(t, err, "schema of its search_path doesn't exist")
}

func TestTablesOfOthersAreLeftAlone(t *testing.T) {
	for name, table := range map[string]string{
		"another meta":             "CREATE TABLE meta(n integer)",
		"a meta of the same shape": "CREATE TABLE meta(key text, value text)",
		"another table":            "CREATE TABLE run(n integer)",
	} {
		t.Run(name, func(t *testing.T) {
			at := dbtest.Postgres(t)
			dbtest.Exec(t, at, table)
			_, err := Open(ctx, at, Options{Create: true})
			unusable(t, err, "not a ledger of runner")
			if n := number(t, at, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 1 {
				t.Errorf("there are %d tables, want the one that was there", n)
			}
		})
	}
}

func TestASchemaIsBroughtUpToDateInOneGo(t *testing.T) {
	at := dbtest.Postgres(t)
	openAt(t, at, Options{Create: true})
	two := append(embeddedSteps(), migration{"999.sql", "ALTER TABLE record ADD COLUMN extra integer"})
	broken := append(embeddedSteps(), migration{"999.sql", "ALTER TABLE record ADD COLUMN extra integer; SELECT 1/0"})

	_, err := open(ctx, at, Options{ReadOnly: true}, two)
	unusable(t, err, fmt.Sprintf("this program reads version %d", len(two)))
	if _, err := open(ctx, at, Options{}, broken); err == nil || !strings.Contains(err.Error(), "999.sql") {
		t.Errorf("got %v, want an error that names the step", err)
	}
	if n := number(t, at, "SELECT count(*) FROM information_schema.columns WHERE column_name = 'extra'"); n != 0 {
		t.Error("half a step was taken")
	}
	s, err := open(ctx, at, Options{}, two)
	must(t, err)
	must(t, s.Close())
	_, err = Open(ctx, at, Options{})
	unusable(t, err, fmt.Sprintf("knows versions up to %d", len(two)-1))
}

func TestTheViewHasTheColumnsOfSQLites(t *testing.T) {
	s, at := fresh(t)
	_, e := planned(t, s, "a\x1a")
	update(t, s, func(tx ledger.Tx) error {
		n := ledger.Claim(e[0], ledger.Act, "run-1")
		n.StartedAt = s.Now()
		return tx.Swap([]ledger.Change{{Old: e[0], New: n}})
	})
	c, err := pgx.Connect(ctx, at)
	must(t, err)
	defer c.Close(ctx)
	rows, err := c.Query(ctx, "SELECT * FROM ledger")
	must(t, err)
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToMap)
	must(t, err)
	started, _ := row["started_at"].(string)
	if !strings.HasPrefix(started, s.Now().Format("2006-01-02T")) || !strings.HasSuffix(started, "Z") || len(started) != len("2006-01-02T15:04:05.000Z") {
		t.Errorf("started_at is %q", started)
	}
	delete(row, "started_at")
	want := map[string]any{
		"task_name": task, "biz_id": "a\x1a1a", "execute_date": date, "status": "running", "phase": "act", "detail": nil, "result": nil,
		"attempts": int32(0), "generation": int32(1), "fence": int64(1), "run_id": "run-1", "ended_at": nil, "not_before": nil,
		"exit_code": nil, "error": nil, "payload": nil,
	}
	if d := cmp.Diff(want, row); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
