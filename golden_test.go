//go:build unix

package main_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"runner/internal/dbtest"
)

// A ledger that an older program has made opens, migrates and goes on, one of
// each version of the schema.
func TestSQLiteLedgersOfEachVersionGoOn(t *testing.T) {
	newest := schemas(t, "sqlite")
	for v := 1; v <= newest; v++ {
		t.Run(fmt.Sprint("v", v), func(t *testing.T) {
			name := ledgerOf(t, v, ".db", newest)
			g := newGolden(t, "ledger.db")
			made, err := os.ReadFile(name)
			g.must(err)
			g.must(os.WriteFile(g.path("ledger.db"), made, 0o600))
			g.goesOn(name, v < newest, func() {
				if now, err := os.ReadFile(g.path("ledger.db")); err != nil || !slices.Equal(now, made) {
					t.Errorf("reading has changed it: %v", err)
				}
			})
		})
	}
}

func TestPostgresLedgersOfEachVersionGoOn(t *testing.T) {
	newest := schemas(t, "postgres")
	for v := 1; v <= newest; v++ {
		t.Run(fmt.Sprint("v", v), func(t *testing.T) {
			name := ledgerOf(t, v, ".sql", newest)
			address := dbtest.Postgres(t)
			g := newGolden(t, address)
			made, err := os.ReadFile(name)
			g.must(err)
			c, err := pgx.Connect(context.Background(), address)
			g.must(err)
			_, err = c.PgConn().Exec(context.Background(), string(made)).ReadAll()
			g.must(errors.Join(err, c.Close(context.Background())))
			g.goesOn(name, v < newest, func() {})
		})
	}
}

// A newer program's ledger is left as it is (case 33).
func TestALedgerOfANewerVersionIsRefusedUntouched(t *testing.T) {
	g := newGolden(t, "ledger.db")
	made, err := os.ReadFile("testdata/ledgers/v1.db")
	g.must(err)
	g.must(os.WriteFile(g.path("ledger.db"), made, 0o600))
	db, err := sql.Open("sqlite", g.path("ledger.db"))
	g.must(err)
	_, err = db.Exec("PRAGMA user_version = 99")
	g.must(errors.Join(err, db.Close()))
	before, err := os.ReadFile(g.path("ledger.db"))
	g.must(err)
	for _, args := range []string{"ledger ls", "status", "run grant --date 2026-11-11", "recover", "ledger migrate"} {
		g.run(7, strings.Fields(args)...)
	}
	after, err := os.ReadFile(g.path("ledger.db"))
	if err != nil || !slices.Equal(before, after) {
		t.Errorf("it has changed: %v", err)
	}
	if _, err := os.Stat(g.path("did")); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was executed")
	}
}

// ledgerOf names the ledger of a version. That of the newest one may be
// missing until there is a newer one.
func ledgerOf(t *testing.T, v int, ending string, newest int) string {
	t.Helper()
	name := fmt.Sprintf("testdata/ledgers/v%d%s", v, ending)
	if _, err := os.Stat(name); v == newest && v > 1 && errors.Is(err, os.ErrNotExist) {
		t.Skip("made when its schema is released: see golden_make_test.go")
	}
	return name
}

// schemas is the newest version of a store's schema.
func schemas(t *testing.T, store string) int {
	t.Helper()
	steps, err := filepath.Glob("ledger/" + store + "/migrations/*.sql")
	if err != nil || len(steps) == 0 {
		t.Fatalf("%s has no schema: %v", store, err)
	}
	return len(steps)
}

// golden is a folder with the tasks of testdata/ledgers and a ledger.
type golden struct {
	t    *testing.T
	dir  string
	base []string // of the environment
	env  []string // more of it
}

func newGolden(t *testing.T, ledger string) *golden {
	t.Helper()
	g := &golden{t: t, dir: t.TempDir()}
	g.base = append(os.Environ(), "TZ=UTC", "RUNNER_LEDGER="+ledger, "HOME="+g.dir)
	self, err := os.Executable()
	g.must(err)
	g.must(os.Symlink(self, g.path("runner")))
	files, err := filepath.Glob("testdata/ledgers/*")
	g.must(err)
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), "v") {
			continue
		}
		text, err := os.ReadFile(f)
		g.must(err)
		g.must(os.WriteFile(g.path(filepath.Base(f)), text, 0o600))
	}
	return g
}

func (g *golden) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *golden) path(name string) string { return filepath.Join(g.dir, name) }

// run runs the program, which must end with a code, -1 for a death by signal.
func (g *golden) run(code int, args ...string) []byte {
	g.t.Helper()
	var stderr strings.Builder
	cmd := exec.Command(g.path("runner"), args...)
	cmd.Dir, cmd.Env, cmd.Stderr = g.dir, append(g.base, g.env...), &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		g.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		g.t.Fatalf("runner %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, &stderr)
	}
	return out
}

func (g *golden) object(code int, args ...string) (v any) {
	g.t.Helper()
	g.must(json.Unmarshal(g.run(code, append(args, "-o", "json")...), &v))
	return v
}

// read reads all of a ledger as its users do.
func (g *golden) read() map[string]any {
	g.t.Helper()
	var stories []any
	for _, r := range g.object(0, "ledger", "ls", "--limit", "0").([]any) {
		r := r.(map[string]any)
		stories = append(stories, g.object(0, "ledger", "show", r["task_name"].(string), r["biz_id"].(string),
			"--date", r["execute_date"].(string), "--captured"))
	}
	return map[string]any{"records": stories, "runs": g.object(0, "runs", "ls", "--limit", "0")}
}

// same compares what is read with what was once. Names may have been added.
func (g *golden) same(name string) {
	g.t.Helper()
	text, err := os.ReadFile(name + ".json")
	g.must(err)
	var want any
	g.must(json.Unmarshal(text, &want))
	got := known(want, any(g.read()))
	if d := cmp.Diff(want, got); d != "" {
		g.t.Errorf("- %s.json + read\n%s", name, d)
	}
}

// known leaves of a value only the names that another one has.
func known(want, v any) any {
	switch w := want.(type) {
	case map[string]any:
		v, ok := v.(map[string]any)
		if !ok {
			break
		}
		out := map[string]any{}
		for name := range w {
			if value, ok := v[name]; ok {
				out[name] = known(w[name], value)
			}
		}
		return out
	case []any:
		v, _ := v.([]any)
		out := slices.Clone(v)
		for i := range min(len(w), len(v)) {
			out[i] = known(w[i], v[i])
		}
		return out
	}
	return v
}

// goesOn reads a ledger, migrates it, and does what is left of its tasks.
func (g *golden) goesOn(name string, older bool, untouched func()) {
	g.t.Helper()
	if older {
		g.run(7, "ledger", "ls")
	} else {
		g.same(name)
	}
	untouched()
	g.run(0, "ledger", "migrate")
	g.same(name)

	const date = "2026-11-11"
	counts := func(code int, task string, want map[string]float64) {
		g.t.Helper()
		sum := g.object(code, "run", task, "--date", date, "--wait", "0s").(map[string]any)
		for status, n := range sum["counts"].(map[string]any) {
			if n != want[status] {
				g.t.Errorf("%s: %v are %s, want %v", task, n, status, want[status])
			}
		}
	}
	counts(3, "grant", map[string]float64{"done": 5, "failed": 2, "in_doubt": 1, "skipped": 1})
	counts(0, "还款", map[string]float64{"done": 2})
	counts(0, "later", map[string]float64{"done": 1})
	counts(1, "halted", map[string]float64{"done": 2, "failed": 2})
	counts(3, "cut", map[string]float64{"done": 3, "in_doubt": 1})
	counts(0, "ahead", map[string]float64{"done": 4})
	did, err := os.ReadFile(g.path("did"))
	g.must(err)
	lines := strings.Split(strings.TrimSpace(string(did)), "\n")
	slices.Sort(lines)
	want := []string{"ahead a1", "ahead a2", "ahead a3", "ahead a4", "cut c3", "cut c4", "halted h3", "halted h4", "later l1"}
	if !reflect.DeepEqual(lines, want) {
		g.t.Errorf("it did %q, want %q: nothing that was done or may have been", lines, want)
	}
}
