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

func TestACheckIsARowOrNone(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		b.exec("INSERT INTO account (id, balance, note) VALUES ('a', 5, NULL)")
		o := b.probeOptions()
		o.Query = "SELECT balance, note FROM account WHERE id = :biz_id AND balance > 0 + :least"
		if b.kind == "postgres" {
			o.Query = "SELECT balance, note FROM account WHERE id = :biz_id AND balance > :least"
		}
		c := NewCheck(o)
		defer c.Close()
		b.must(c.Prepare())
		b.wantResult(c, attempt("a", "least", "4"), "applied 5, NULL")
		b.wantResult(c, attempt("a", "least", "5"), "absent")
		b.wantResult(c, attempt("x", "least", "4"), "absent")
		for _, at := range []runner.Attempt{attempt("a")} {
			if r := act(c, at); r.Outcome != ledger.Unclear || !strings.Contains(r.Error, "no :least") {
				t.Error(short(r))
			}
		}
		b.exec("DROP TABLE account")
		if r := act(c, attempt("a", "least", "4")); r.Outcome != ledger.Unclear {
			t.Error(short(r))
		}
	})
}

func TestACheckChangesNothing(t *testing.T) {
	b := newBed(t, "postgres")
	b.exec("CREATE FUNCTION sneak() RETURNS integer LANGUAGE sql AS $$INSERT INTO booking (account) VALUES ('x') RETURNING 1$$")
	o := b.probeOptions()
	o.Query = "SELECT sneak()"
	c := NewCheck(o)
	defer c.Close()
	if r := act(c, attempt("a")); r.Outcome != ledger.Unclear || !strings.Contains(r.Error, "read-only") {
		t.Error(short(r))
	}
}

func TestACompensationIsOneTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		b.exec("INSERT INTO account (id, balance) VALUES ('a', 5), ('b', 5)")
		o := b.probeOptions()
		o.Statements = []string{"DELETE FROM account WHERE id = :biz_id", "INSERT INTO booking (account) VALUES (:to)"}
		c := NewCompensation(o)
		defer c.Close()
		b.must(c.Prepare())
		if r := act(c, attempt("a", "to", "bad")); r.Outcome != ledger.FailedAttempt || !strings.HasPrefix(r.Error, "statement 2: ") {
			t.Error(short(r))
		}
		b.want("SELECT count(*) FROM account", 2)
		for range 2 {
			b.wantResult(c, attempt("a", "to", "good"), "succeeded")
		}
		b.want("SELECT count(*) FROM account", 1)
	})
}

func TestRowsAreExactText(t *testing.T) {
	for kind, c := range map[string]struct {
		table, query string
		want         []string
	}{
		"sqlite": {
			"CREATE TABLE x AS SELECT 12345678901234567890 AS big, 9223372036854775807 AS whole, 1.0 AS real, 0.1 AS tenth, '0010' AS zeros, NULL AS none, CAST('2026-11-28' AS date) AS n",
			"SELECT whole, real, tenth, zeros, none FROM x WHERE :execute_date = '2026-11-28'",
			[]string{"whole=9223372036854775807 real=1.0 tenth=0.1 zeros=0010 none=NULL"},
		},
		"postgres": {
			"CREATE TABLE x AS SELECT 9223372036854775807 AS whole, 1.50::numeric AS money, 0.1::float8 AS tenth, '0010'::text AS zeros, NULL::text AS none, date '2026-11-28' AS day, true AS flag, '{\"a\": 1}'::jsonb AS doc",
			"SELECT * FROM x WHERE day = :execute_date",
			[]string{`whole=9223372036854775807 money=1.50 tenth=0.1 zeros=0010 none=NULL day=2026-11-28 flag=t doc={"a": 1}`},
		},
		"mysql": {
			"CREATE TABLE x (whole bigint unsigned, money decimal(10,2), tenth double, zeros varchar(10), none varchar(10), day date, at datetime(3)) AS SELECT 18446744073709551615 AS whole, 1.50 AS money, 0.1 AS tenth, '0010' AS zeros, NULL AS none, '2026-11-28' AS day, '2026-11-28 01:02:03.004' AS at",
			"SELECT * FROM x WHERE day = :execute_date",
			[]string{"whole=18446744073709551615 money=1.50 tenth=0.1 zeros=0010 none=NULL day=2026-11-28 at=2026-11-28 01:02:03.004"},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			b := newBed(t, kind)
			b.exec(c.table)
			b.same("rows", b.rows(c.query), c.want)
		})
	}
}

func (b *bed) rows(query string) (all []string) {
	b.t.Helper()
	r := Rows{Address: func() (string, error) { return b.address, nil }, Query: query, Date: "2026-11-28"}
	b.must(r.Each(context.Background(), func(columns []string, row []*string) error {
		var parts []string
		for i, v := range row {
			text := "NULL"
			if v != nil {
				text = *v
			}
			parts = append(parts, columns[i]+"="+text)
		}
		all = append(all, strings.Join(parts, " "))
		return nil
	}))
	return all
}

func TestRowsOfSQLiteDates(t *testing.T) {
	b := newBed(t, "sqlite")
	b.exec("CREATE TABLE d (day date, at datetime, n integer)")
	b.exec("INSERT INTO d VALUES ('2026-11-28', '2026-11-28T01:02:03Z', 1), (20261128, 1764291723, 2)")
	b.same("rows", b.rows("WITH x AS (SELECT * FROM d) SELECT day, at, n AS day FROM x ORDER BY n;"), []string{
		"day=2026-11-28 at=2026-11-28T01:02:03Z day=1", "day=20261128 at=1764291723 day=2",
	})
}

func TestRowsStream(t *testing.T) {
	onEach(t, func(t *testing.T, b *bed) {
		many := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT a.i FROM n a, n b, n c"
		n := 0
		stop := errors.New("enough")
		r := Rows{Address: func() (string, error) { return b.address, nil }, Query: many}
		err := r.Each(context.Background(), func([]string, []*string) error {
			if n++; n == 1000 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || n != 1000 {
			t.Errorf("got %v after %d rows", err, n)
		}
	})
}

func TestAnErrorInTheMiddleOfRowsIsAnError(t *testing.T) {
	for kind, query := range map[string]string{
		"sqlite":   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT json_extract(CASE i WHEN 40 THEN '{' ELSE '{}' END, '$') FROM n",
		"postgres": "SELECT 1 / (40 - i) FROM generate_series(1, 5000) AS i",
		"mysql":    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT i, (SELECT i FROM n AS m WHERE n.i = 40 AND m.i < 3) FROM n",
	} {
		b := newBed(t, kind)
		r := Rows{Address: func() (string, error) { return b.address, nil }, Query: query}
		if err := r.Each(context.Background(), func([]string, []*string) error { return nil }); err == nil {
			t.Errorf("%s: no error", kind)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ address, name, why string }{
		{"sqlite:shop.db", "sqlite:/conf/shop.db", ""},
		{"sqlite:///var/a b?c%20.db", "sqlite:/var/a b?c%20.db", ""},
		{"sqlite:/var/x.db", "sqlite:/var/x.db", ""},
		{"sqlite://var/x.db", "", "names a host"},
		{"sqlite:", "", "names no file"},
		{"sqlite::memory:", "", "names no file"},
		{"postgres://app:s3cret@db.example:6543/shop?sslmode=require", "postgres://app@db.example:6543/shop", ""},
		{"postgresql://app:s3cret@db.example/shop", "postgres://app@db.example:5432/shop", ""},
		{"postgres://app:s3cret@db.example/shop?sslmode=s3cret", "", "can't be read"},
		{"postgres://app:s3/cret@db.example/shop", "", "can't be read"},
		{"mysql://app:s3cret@db.example/shop", "mysql://app@db.example:3306/shop", ""},
		{"mariadb://app:s3cret@[::1]:3307/shop?tls=skip-verify", "mysql://app@[::1]:3307/shop", ""},
		{"mysql://app:s3cret@/shop?socket=/run/x.sock", "mysql://app@/run/x.sock/shop", ""},
		{"mysql://app:s3cret@db.example/", "", "no database"},
		{"mysql://app:s3cret@db.example/shop?multiStatements=true", "", "unknown"},
		{"mysql://app:s3cret@db.example/shop?tls=s3cret", "", "s3"},
		{"oracle://app:s3cret@db/x", "", "no address"},
		{"shop.db", "", "no address"},
	} {
		db, err := newDatabase(c.address, "/conf")
		switch {
		case c.why == "" && (err != nil || db.name() != c.name):
			t.Errorf("%s: got %v, %v", c.address, db, err)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%s: got %v, want an error with %q", c.address, err, c.why)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") && !strings.Contains(c.address, "=s3cret") {
			t.Errorf("%s: the password is told: %v", c.address, err)
		}
	}
	for address, want := range map[string]string{
		"postgres://app:p%40ss@h/d?sslpassword=x": "[p%40ss p@ss x]", "mysql://app@h/d": "[]", "sqlite:x": "[]",
		"postgres://app:a:b@c@h/d": "[a:b@c]", "postgres://h/d?password=a%20b": "[a%20b a b]",
	} {
		if got := fmt.Sprint(Secrets(address)); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
