package sqlaction

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParametersAreFoundWhereTheDatabaseSeesThem(t *testing.T) {
	for _, c := range []struct{ kinds, text, sql, params string }{
		{"spm", "SELECT :a, :b", "SELECT $1, $2", "a b"},
		{"spm", "SELECT :a,:a", "SELECT $1,$2", "a a"}, // each place its own: types may differ
		{"spm", "SELECT ':a', 'it''s :b', :c", "SELECT ':a', 'it''s :b', $1", "c"},
		{"spm", "SELECT /* :a */ :b -- :c\n, :d", "SELECT /* :a */ $1 -- :c\n, $2", "b d"},
		{"sp", `SELECT ":a", :b`, `SELECT ":a", $1`, "b"},
		{"m", `SELECT ":a \" :b", :c`, `SELECT ":a \" :b", $1`, "c"},
		{"m", `SELECT ':a \' :b', :c`, `SELECT ':a \' :b', $1`, "c"},
		{"sp", `SELECT ':a \', :b`, `SELECT ':a \', $1`, "b"},
		{"p", `SELECT E':a \' :b', e'\\', :c`, `SELECT E':a \' :b', e'\\', $1`, "c"},
		{"sm", "SELECT `:a`, :b", "SELECT `:a`, $1", "b"},
		{"s", "SELECT [:a], :b", "SELECT [:a], $1", "b"},
		{"p", "SELECT :a::text, x::date, '1'::int", "SELECT $1::text, x::date, '1'::int", "a"},
		{"p", "SELECT a[1:n], a[lo:hi], a[:i], a[ :i : :j ], :b", "SELECT a[1:n], a[lo:hi], a[$1], a[ $2 : $3 ], $4", "i i j b"},
		{"p", "SELECT $$:a$$, $x$ $$ :b $x$, :c", "SELECT $$:a$$, $x$ $$ :b $x$, $1", "c"},
		{"p", "SELECT /* /* :a */ :b */ :c", "SELECT /* /* :a */ :b */ $1", "c"},
		{"sm", "SELECT /* /* :a */ :b", "SELECT /* /* :a */ $1", "b"},
		{"p", `SELECT j->'a', j->>:k, j @> :d, j ? 'x', j ?| array['a'], j #>> '{a}'`, `SELECT j->'a', j->>$1, j @> $2, j ? 'x', j ?| array['a'], j #>> '{a}'`, "k d"},
		{"m", "SELECT @x := :a, @@sql_mode # :b\n, :c", "SELECT @x := $1, @@sql_mode # :b\n, $2", "a c"},
		{"m", "SELECT 1--:a", "SELECT 1--$1", "a"}, // no blank: twice minus
		{"sp", "SELECT 1--:a", "SELECT 1", ""},
		{"spm", `SELECT :"user-id", :"a""b"`, "SELECT $1, $2", `user-id a"b`},
		{"spm", "SELECT :姓名, :_x1;", "SELECT $1, $2", "姓名 _x1"},
		{"spm", "SELECT a:b, 1:c ;;", "SELECT a$1, 1$2", "b c"},
		{"spm", "SELECT b'1', x'ff', 1.5e3, 0x1f, :a", "SELECT b'1', x'ff', 1.5e3, 0x1f, $1", "a"},
	} {
		for name, g := range grammars(c.kinds) {
			s, err := g.parse(c.text)
			if err != nil {
				t.Errorf("%s: %s: %v", name, c.text, err)
				continue
			}
			want := c.sql
			if !g.numbered {
				for _, n := range []string{"$1", "$2", "$3", "$4"} {
					want = strings.Replace(want, n, "?", 1)
				}
			}
			if d := cmp.Diff(want, s.sql) + cmp.Diff(c.params, strings.Join(s.params, " ")); d != "" {
				t.Errorf("%s: %s: %s", name, c.text, d)
			}
		}
	}
}

// grammars gives those of SQLite, PostgreSQL and MySQL, by their letters.
func grammars(letters string) map[string]*grammar {
	all := map[string]*grammar{}
	for _, l := range letters {
		g := map[rune]*grammar{'s': &sqliteGrammar, 'p': &postgresGrammar, 'm': &mysqlGrammar}[l]
		all[string(l)] = g
	}
	return all
}

func TestStatementsThatEndOrEscapeTheTransactionAreRefused(t *testing.T) {
	for _, c := range []struct{ kinds, text, why string }{
		{"spm", "", "empty"}, {"spm", " ; -- x\n", "empty"},
		{"spm", "UPDATE a SET b = 1; DELETE FROM a", "several statements"},
		{"spm", "BEGIN", "ends the transaction"}, {"spm", "begin; x", "several statements"}, {"spm", "START TRANSACTION", "ends"}, {"spm", "commit", "ends"},
		{"spm", "/* x */ COMMIT", "ends"}, {"spm", "END", "ends"}, {"spm", "ROLLBACK", "ends"}, {"spm", "ROLLBACK TO SAVEPOINT x", "ends"}, {"spm", "SAVEPOINT x", "ends"},
		{"spm", "RELEASE SAVEPOINT x", "ends"}, {"spm", "PREPARE TRANSACTION 'x'", "ends"}, {"spm", "SET autocommit = 1", "ends"}, {"p", "SET ROLE x", "ends"},
		{"m", "LOCK TABLES a WRITE", "ends"}, {"m", "UNLOCK TABLES", "ends"}, {"m", "XA START 'x'", "ends"}, {"m", "EXECUTE x", "ends"},
		{"s", "ATTACH 'x' AS y", "ends"}, {"s", "PRAGMA foreign_keys = off", "ends"}, {"sp", "VACUUM", "ends"},
		{"m", "CREATE TABLE x (y int)", "commits"}, {"m", "drop table x", "commits"}, {"m", "TRUNCATE x", "commits"}, {"m", "CALL x()", "commits"}, {"m", "LOAD DATA INFILE 'x' INTO TABLE y", "commits"},
		{"s", "INSERT OR ROLLBACK INTO a VALUES (1)", "ends the transaction"}, {"s", "CREATE TABLE a (b UNIQUE ON CONFLICT ROLLBACK)", "ends the transaction"},
		{"m", "/*!50000 COMMIT */", "executes"}, {"m", "UPDATE a SET b = 1 /*M! , c = 2 */", "executes"},
		{"sm", "SELECT ?", "named"}, {"s", "SELECT ?1", "named"}, {"s", "SELECT @a", "named"}, {"s", "SELECT $a", "named"}, {"s", "SELECT :1", "named"}, {"p", "SELECT $1", "named"},
		{"spm", "SELECT 'x", "never closed"}, {"spm", "SELECT /* x", "never closed"}, {"p", "SELECT $x$ y", "never closed"}, {"s", "SELECT [x", "never closed"}, {"spm", `SELECT "x`, "never closed"},
		{"spm", "EXPLAIN SELECT 1", "can't begin"}, {"p", "COPY a FROM STDIN", "can't begin"}, {"spm", "SELECT '\xff'", "UTF-8"},
	} {
		for name, g := range grammars(c.kinds) {
			if s, err := g.action(c.text); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %q: got %v, %v, want an error with %q", name, c.text, s, err, c.why)
			}
		}
	}
}

func TestVerbsOfStatementsAreFound(t *testing.T) {
	for _, c := range []struct {
		kinds, text, verb string
		counts, rows      bool
	}{
		{"spm", "select 1", "SELECT", true, true},
		{"spm", "(SELECT 1) UNION (SELECT 2)", "SELECT", true, true},
		{"spm", "UPDATE a SET b = 1", "UPDATE", true, false},
		{"sp", "INSERT INTO a VALUES (1) RETURNING b", "INSERT", true, true},
		{"spm", "WITH x AS (SELECT 1) UPDATE a SET b = 1", "UPDATE", true, false},
		{"sp", "WITH RECURSIVE x(n) AS (SELECT 1), y AS (DELETE FROM a) INSERT INTO b SELECT n FROM x", "INSERT", true, false},
		{"spm", "WITH x AS (SELECT 1) SELECT * FROM x", "SELECT", true, true},
		{"p", "MERGE INTO a USING b ON true WHEN MATCHED THEN DELETE", "MERGE", true, false},
		{"sp", "CREATE TABLE x (y int)", "CREATE", false, false},
		{"p", "CALL x()", "CALL", false, false},
		{"m", "DO release_all_locks()", "DO", false, false},
	} {
		for name, g := range grammars(c.kinds) {
			s, err := g.action(c.text)
			if err != nil || s.verb != c.verb || s.counts() != c.counts || s.rows != c.rows {
				t.Errorf("%s: %s: got %+v, %v", name, c.text, s, err)
			}
		}
	}
}

func TestAQueryOnlyLooks(t *testing.T) {
	for name, g := range grammars("spm") {
		for _, text := range []string{"DELETE FROM a", "CREATE TABLE x (y int)", "WITH x AS (SELECT 1) DELETE FROM a"} {
			if _, err := g.query(text); err == nil || !strings.Contains(err.Error(), "only looks") {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add("SELECT :a, ':b', $$:c$$, E'\\'', [x], `y`, /* /* */ */ -- z")
	f.Fuzz(func(t *testing.T, text string) {
		for name, g := range grammars("spm") {
			tokens, err := g.scan(text)
			if err != nil {
				continue
			}
			last := 0
			for _, k := range tokens {
				if k.pos < last || k.end <= k.pos || k.end > len(text) {
					t.Fatalf("%s: %q: token %+v after %d", name, text, k, last)
				}
				last = k.end
			}
		}
	})
}
