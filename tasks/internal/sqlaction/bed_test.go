//go:build unix

package sqlaction

import (
	"context"
	"database/sql"

	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // looks at databases from outside
	"go.uber.org/goleak"

	"runner/internal/dbtest"
	"runner/ledger"
	"runner/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a business database, seen from outside.
type bed struct {
	t       testing.TB
	kind    string
	address string
	db      *sql.DB
	actions []interface{ Close() error }
}

var bedKinds = []string{"sqlite", "postgres", "mysql"}

// onEach runs a test on each kind of database.
func onEach(t *testing.T, fn func(t *testing.T, b *bed)) {
	t.Helper()
	for _, kind := range bedKinds {
		t.Run(kind, func(t *testing.T) { fn(t, newBed(t, kind)) })
	}
}

func newBed(t testing.TB, kind string) *bed {
	t.Helper()
	address, dsn := "", ""
	switch kind {
	case "sqlite":
		path := filepath.Join(t.TempDir(), "a b%c.db")
		u := url.URL{Scheme: "file", Path: path, RawQuery: "_busy_timeout=10000"}
		address, dsn = "sqlite://"+path, u.String()
	case "postgres":
		address = dbtest.Postgres(t)
		dsn = address
	case "mysql":
		m := dbtest.MariaDB(t)
		address, dsn = "mysql://root@localhost/"+m.Name+"?socket="+m.Socket, m.DSN
	}
	return bedAt(t, kind, address, dsn)
}

// bedAt makes the tables of a bed in an empty database.
func bedAt(t testing.TB, kind, address, dsn string) *bed {
	t.Helper()
	b := &bed{t: t, kind: kind, address: address}
	driver := map[string]string{"sqlite": "sqlite", "postgres": "pgx", "mysql": "mysql"}[kind]
	var err error
	b.db, err = sql.Open(driver, dsn)
	b.must(err)
	t.Cleanup(func() {
		for _, a := range b.actions {
			b.must(a.Close())
		}
		b.must(b.db.Close())
	})
	b.exec("CREATE TABLE account (id varchar(40) PRIMARY KEY, balance integer NOT NULL, version integer NOT NULL DEFAULT 0, note varchar(40))")
	b.exec("CREATE TABLE booking (account varchar(40) NOT NULL, ref varchar(600), CHECK (account <> 'bad'))")
	return b
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) exec(text string) {
	b.t.Helper()
	if _, err := b.db.Exec(text); err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
}

func (b *bed) number(query string) (n int) {
	b.t.Helper()
	if err := b.db.QueryRow(query).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (b *bed) want(query string, want int) {
	b.t.Helper()
	if got := b.number(query); got != want {
		b.t.Errorf("%s: got %d, want %d", query, got, want)
	}
}

func (b *bed) options(o Options) Options {
	o.Address = func() (string, error) { return b.address, nil }
	if o.Jobs == 0 {
		o.Jobs = 2
	}
	return o
}

// action makes an action that is closed at the end.
func (b *bed) action(o Options) *Action {
	a := New(b.options(o))
	b.actions = append(b.actions, a)
	return a
}

func (b *bed) prepared(o Options) *Action {
	b.t.Helper()
	a := b.action(o)
	b.must(a.Prepare())
	return a
}

func (b *bed) probeOptions() ProbeOptions {
	return ProbeOptions{Address: func() (string, error) { return b.address, nil }, Jobs: 2}
}

// attempt is one for a record with fields: name, value, …
func attempt(bizID string, fields ...string) runner.Attempt {
	at := runner.Attempt{Record: runner.Record{
		Key: ledger.Key{TaskName: "task", BizID: bizID, ExecuteDate: "2026-11-28"}, Generation: 1, IdempotencyKey: "key-" + bizID,
	}}
	if len(fields) > 0 {
		at.Fields = map[string]string{}
	}
	for i := 0; i < len(fields); i += 2 {
		at.Fields[fields[i]] = fields[i+1]
	}
	return at
}

// act is what became of an attempt, in short.
func act(a runner.Action, at runner.Attempt) runner.Result {
	r := a.Act(context.Background(), at)
	return r
}

// actAll makes attempts at once, as the workers of a run do.
func actAll(a runner.Action, all []runner.Attempt) []runner.Result {
	results := make([]runner.Result, len(all))
	done := make(chan struct{})
	for i, at := range all {
		go func() {
			results[i] = a.Act(context.Background(), at)
			done <- struct{}{}
		}()
	}
	for range all {
		<-done
	}
	return results
}

func (b *bed) same(what string, got, want any) {
	b.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		b.t.Errorf("%s: %s", what, d)
	}
}

// short gives the outcome and what is said of it.
func short(r runner.Result) string {
	s := r.Outcome.String()
	for _, part := range []string{r.Detail, r.Result, r.Error} {
		if part != "" {
			s += " " + part
		}
	}
	return s
}

func (b *bed) wantResult(a runner.Action, at runner.Attempt, want string) {
	b.t.Helper()
	if got := short(act(a, at)); got != want {
		b.t.Errorf("%s: got %q, want %q", at.BizID, got, want)
	}
}

// awaitBusy waits until something else is in the middle of a transaction.
func (b *bed) awaitBusy() {
	b.t.Helper()
	query := map[string]string{
		"sqlite":   "",
		"postgres": "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%sleep(60)%' AND pid <> pg_backend_pid()",
		"mysql":    "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND state = 'User sleep'",
	}[b.kind]
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatal("nothing is going on")
		}
		if query == "" {
			if _, err := b.db.Exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK"); err != nil {
				return
			}
			continue
		}
		if b.number(query) > 0 {
			return
		}
	}
}
