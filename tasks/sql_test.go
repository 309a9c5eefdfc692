package tasks

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // makes business databases

	"runner/ledger"
	"runner/runner"
)

// sqlConfig is a configuration beside a SQLite database, in which statements
// have been executed.
func sqlConfig(t *testing.T, config string, statements ...string) *Config {
	t.Helper()
	dir := t.TempDir()
	path := write(t, dir, "shop.db", "")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	c, err := Load(write(t, dir, "runner.yaml", "databases: {shop: 'sqlite:shop.db'}\n"+config))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAGuardedActionIsItsOwnCheck(t *testing.T) {
	for _, c := range []struct {
		task string
		want ledger.Policy
	}{
		{"sql: {database: shop, statement: SELECT 1}", ledger.Policy{Idempotent: true, Check: true}},
		{"sql: {database: shop, statement: SELECT 1, guard: off}", ledger.Policy{}},
		{"sql: {database: shop, statement: SELECT 1, guard: off}, idempotent: true", ledger.Policy{Idempotent: true}},
		// Case 80: the effect may still appear when the attempt has ended.
		{"sql: {database: shop, statement: SELECT 1, guard: off}, timeout: 5m, check: {sql: {database: shop, query: SELECT 1}}", ledger.Policy{Check: true, CheckAfter: 5 * time.Minute}},
		{"sql: {database: shop, statement: SELECT 1, guard: off}, timeout: 5m, check_after: 0s, check: {sql: {database: shop, query: SELECT 1}}", ledger.Policy{Check: true}},
		{"run: [x], check: {sql: {database: shop, query: SELECT 1}}", ledger.Policy{Check: true}},
		{"sql: {database: shop, statement: SELECT 1}, timeout: 0", ledger.Policy{Idempotent: true, Check: true}},
	} {
		conf := mustLoad(t, "databases: {shop: 'sqlite:shop.db'}\ntasks: {a: {"+c.task+"}}")
		p := conf.Tasks[0].plan.policy
		got := ledger.Policy{Idempotent: p.Idempotent, Check: p.Check, Compensate: p.Compensate, CheckAfter: p.CheckAfter}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.task, d)
		}
	}
}

func TestASQLTaskIsBuiltFromItsStoredDefinition(t *testing.T) {
	conf := sqlConfig(t, `namespace: n
tasks:
  guarded:
    sql: {database: shop, statement: UPDATE a SET b = :biz_id, batch: 7}
    jobs: 3
  checked:
    sql: {database: shop, statement: UPDATE a SET b = :biz_id, guard: off}
    check: {sql: {database: shop, query: SELECT b FROM a WHERE b = :biz_id}}
    compensate: {sql: {database: shop, statement: UPDATE a SET b = NULL}}
`, "CREATE TABLE a (b text)", "INSERT INTO a VALUES ('x')")
	for i, task := range conf.Tasks {
		built, err := task.Build(0)
		if err != nil {
			t.Fatal(err)
		}
		text, digest := built.Definition.Encode()
		var d runner.Definition
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		again, err := FromDefinition(task.Name, d, 3)
		if err != nil {
			t.Fatal(err)
		}
		if _, other := again.Definition.Encode(); other != digest || again.Check == nil || (again.Compensate != nil) != (i == 1) {
			t.Errorf("%s: another one: %+v", task.Name, again)
		}
		if i == 0 && (built.Jobs != 21 || again.Jobs != 21) {
			t.Errorf("%d and %d jobs", built.Jobs, again.Jobs)
		}
		actBetweenChecks(t, again, strconv.Itoa(i), "succeeded applied", "applied", "absent")
	}
}

// actBetweenChecks makes an attempt, and asks the check before and after.
func actBetweenChecks(t *testing.T, built runner.Task, bizID, want, after, before string) {
	t.Helper()
	at := runner.Attempt{Record: runner.Record{Key: ledger.Key{TaskName: built.Name, BizID: bizID, ExecuteDate: "2026-11-28"}, Generation: 1}}
	if err := built.Action.Prepare(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if r := built.Check.Act(ctx, at); r.Outcome.String() != before {
		t.Errorf("%s: before: %+v", built.Name, r)
	}
	if r := built.Action.Act(ctx, at); r.Outcome.String()+" "+r.Detail != want {
		t.Errorf("%s: %+v", built.Name, r)
	}
	if r := built.Check.Act(ctx, at); r.Outcome.String() != after {
		t.Errorf("%s: after: %+v", built.Name, r)
	}
	closing(t, built.Action)
}

func closing(t *testing.T, a runner.Action) {
	t.Helper()
	if err := a.(interface{ Close() error }).Close(); err != nil {
		t.Error(err)
	}
}

func TestPasswordsInAddressesAreSeenNowhere(t *testing.T) {
	t.Setenv("SHOP_PW", "s3cr%65t/1")
	t.Setenv("SHOP_URL", "postgres://app:s3cr%65t%2F1@127.0.0.1:1/shop")
	for address, stored := range map[string]bool{
		"postgres://app:${SHOP_PW}@127.0.0.1:1/shop": true,
		"${SHOP_URL}": true,
		"postgres://app@127.0.0.1:1/shop?password=${SHOP_PW}": true,
		"postgres://app:s3cr%65t%2F1@127.0.0.1:1/shop":        false,
		"mysql://app:s3cr%65t%2F1@127.0.0.1:1/shop":           false,
	} {
		for _, task := range []string{
			"sql: {database: shop, statement: SELECT 1}", "sql: {database: '" + address + "', statement: SELECT 1}",
			"run: [true], check: {sql: {database: shop, query: SELECT 1}}", "go: noop, records: {sql: {database: shop, query: SELECT 1}}",
		} {
			conf, err := load(t, "databases: {shop: '"+address+"'}\ntasks: {a: {"+task+"}}")
			if err != nil {
				notSecret(t, address, err.Error())
				continue
			}
			built, err := conf.Tasks[0].Build(1)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := built.Definition.Encode()
			notSecret(t, address, string(text))
			if !strings.Contains(task, "records") && built.Definition.Incomplete == stored {
				t.Errorf("%s: incomplete: %v", address, !stored)
			}
			shown, err := json.Marshal(conf.Tasks[0].Info())
			if err != nil {
				t.Fatal(err)
			}
			notSecret(t, address, string(shown))
			if strings.Contains(task, "records") {
				notSecret(t, address, sourceError(t, conf.Tasks[0]).Error())
				continue
			}
			if err := built.Action.Prepare(); err == nil {
				t.Errorf("%s: reached", address)
			} else {
				notSecret(t, address, err.Error())
			}
			closing(t, built.Action)
		}
	}
}

func notSecret(t *testing.T, address, text string) {
	t.Helper()
	for _, secret := range []string{"s3cret", "s3cr%65t", "t/1"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s: %s is seen in %s", address, secret, text)
		}
	}
}

func sourceError(t *testing.T, task *Task) error {
	t.Helper()
	_, err := sqlRecords(t, task)
	if err == nil {
		t.Fatal("no error")
	}
	return err
}

func sqlRecords(t *testing.T, task *Task) (all []string, err error) {
	t.Helper()
	src, err := task.Source("2026-11-28", nil, Field{"set", "x"})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	for range 2 { // it can be read again
		all = nil
		for item, err := range src.Records() {
			if err != nil {
				return all, err
			}
			all = append(all, item.BizID+" "+string(item.Payload))
		}
	}
	return all, nil
}

func TestRecordsOfAQuery(t *testing.T) {
	tables := []string{"CREATE TABLE o (id, shop text, price real, day date, note)", "INSERT INTO o VALUES (7, 'a:b', 1.0, '2026-11-28', NULL), ('0010', 'c', 0.1, '2026-11-28', 'x\"y'), (3, 'd', 5, '2026-11-27', '')"}
	query := func(q, more string) string {
		return "tasks: {a: {go: noop, records: {sql: {database: shop, query: \"" + q + "\"}" + more + "}}}\n"
	}
	for _, c := range []struct {
		config string
		want   []string
		err    string
	}{
		{query("SELECT * FROM o WHERE day = :execute_date ORDER BY price DESC", ", biz_id: id"), []string{
			`7 {"id":"7","shop":"a:b","price":"1.0","day":"2026-11-28","note":null,"set":"x"}`,
			`0010 {"id":"0010","shop":"c","price":"0.1","day":"2026-11-28","note":"x\"y","set":"x"}`,
		}, ""},
		{query("SELECT shop, id FROM o WHERE id = 7;", ", biz_id: [shop, id]"), []string{`a\:b:7 {"shop":"a:b","id":"7","set":"x"}`}, ""},
		{query("SELECT id AS biz_id FROM o WHERE id = 3", ""), []string{`3 {"biz_id":"3","set":"x"}`}, ""},
		{query("SELECT id FROM o", ""), nil, `sql of shop:1: there is no "biz_id" in this record`},
		{query("SELECT note AS biz_id FROM o", ""), nil, `sql of shop:1: "biz_id" is null`},
		{query("SELECT id AS biz_id, 1 AS x, 2 AS x FROM o", ""), nil, `sql of shop:1:23: member "x" is there twice`},
		{query("SELECT id AS biz_id, CAST(x'ff' AS TEXT) AS z FROM o", ""), nil, `sql of shop:1: column "z" is not valid UTF-8`},
		{query("SELECT id AS biz_id, char(0) AS z FROM o", ""), nil, `sql of shop:1: column "z" holds a NUL byte`},
		{query("SELECT id AS biz_id FROM p", ""), nil, "sql of shop: SQL logic error: no such table: p"},
	} {
		got, err := sqlRecords(t, sqlConfig(t, c.config, tables...).Tasks[0])
		if c.err != "" {
			var place *runner.PlaceError
			if !errors.As(err, &place) || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %s", c.config, err, c.err)
			}
			continue
		}
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", c.config, err, d)
		}
	}
}

func TestMistakesInSQLAreToldWithTheirPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"databases: {'': x}\ntasks: {a: {go: noop}}":                                                                                 `1:13: "" can't name a database: it is empty, or an address`,
		"databases: {a: 'sqlite://x'}\ntasks: {a: {go: noop}}":                                                                       `1:16: "sqlite://x" names a host: an absolute path is written sqlite:///PATH, one beside runner.yaml sqlite:PATH`,
		"databases: {a: '${A'}\ntasks: {a: {go: noop}}":                                                                              `1:16: "${A" has no closing brace`,
		"tasks: {a: {sql: {database: 'sqlite:x', statement: DELETE FROM a}, env: {A: b}}}":                                           `1:73: "env" is for commands, not for SQL`,
		"tasks: {a: {sql: {database: 'sqlite:x', statement: DELETE FROM a, statements: [COMMIT]}}}":                                  `1:79: "statement" and "statements" exclude each other`,
		"tasks: {a: {sql: {database: 'sqlite:x', statement: DELETE FROM a, on_no_rows: fail, state: SELECT 1}}}":                     `1:92: "state" tells why there was nothing to do, which is an error here`,
		"tasks: {a: {sql: {database: 'sqlite:x', statement: DELETE FROM a}, compensate: {sql: {database: x, statement: SELECT 1}}}}": `1:80: "compensate" needs a "check"`,
		"tasks: {a: {run: [x], check: {sql: {database: 'sqlite:x', statement: DELETE FROM a}}}}":                                     `1:36: a check needs a "query"`,
		"tasks: {a: {run: [x], check: {sql: {database: 'sqlite:x', query: SELECT 1}, run: [x]}}}":                                    `1:36: "run" and "sql" exclude each other`,
		"tasks: {a: {sql: {database: '${NOT_SET}', statement: DELETE FROM a; COMMIT, batch: 2000}}}":                                 `1:84: "batch" must be 1 to 1000, not 2000`,
	} {
		if got := problems(t, text); !strings.HasPrefix(strings.Join(got, "\n"), want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestADatabaseIsNeverMade(t *testing.T) {
	conf := sqlConfig(t, "tasks: {a: {sql: {database: 'sqlite:none.db', statement: SELECT 1}}}")
	built, err := conf.Tasks[0].Build(1)
	if err != nil {
		t.Fatal(err)
	}
	err = built.Action.Prepare()
	var hint *HintError
	if !errors.As(err, &hint) || !strings.Contains(err.Error(), "none.db can't be reached: no such file") || hint.Hint == "" {
		t.Errorf("got %v", err)
	}
	closing(t, built.Action)
	if _, err := os.Stat(filepath.Join(conf.Dir, "none.db")); err == nil {
		t.Error("it was made")
	}
}
