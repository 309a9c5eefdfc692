package tasks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/runner"
)

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// mkdir makes a folder in dir.
func mkdir(t testing.TB, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t testing.TB, text string) (*Config, error) {
	t.Helper()
	return Load(write(t, t.TempDir(), "runner.yaml", text))
}

func mustLoad(t testing.TB, text string) *Config {
	t.Helper()
	c, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const fullConfig = `
ledger: state/${TASKS_TEST_NAME}.db
namespace: shop
create_ledger: false
timezone: Asia/Shanghai
tasks:
  grant:
    description: Grant the coupon
    records: {csv: "users-{{.execute_date}}.csv", biz_id: [user, coupon]}
    run: ["./grant.sh", "{{.biz_id}}", 012, yes, 1_000, 2026-01-01, "--name={{.fields.name}}"]
    env: {ACTIVITY: 1111}
    dir: work
    stdin: json
    idempotent: true
    jobs: 8
    timeout: 30s
    retry: {attempts: 5, backoff: 2s, max_backoff: 1m30s}
    exit_codes: {noop: [10], permanent: [20, 21]}
    keep_output: all
    secrets: [API_TOKEN]
    allow_empty: true
  close:
    records: {lines: list.txt}
    shell: |
      echo "$RUNNER_BIZ_ID"
    timeout: 0
  nothing:
    go: noop
`

func TestEveryKeyOfTheConfigurationArrives(t *testing.T) {
	t.Setenv("TASKS_TEST_NAME", "prod")
	c := mustLoad(t, fullConfig)
	if want := filepath.Join(c.Dir, "state", "prod.db"); c.Ledger != want {
		t.Errorf("ledger %q, want %q", c.Ledger, want)
	}
	if c.Namespace != "shop" || c.CreateLedger || c.TimeZone != "Asia/Shanghai" || !filepath.IsAbs(c.Path) {
		t.Errorf("got %+v", c)
	}
	var names []string
	for _, task := range c.Tasks {
		names = append(names, task.Name)
	}
	if d := cmp.Diff([]string{"grant", "close", "nothing"}, names); d != "" {
		t.Error(d)
	}
	grant := c.Tasks[0]
	task, err := grant.Build(0)
	if err != nil {
		t.Fatal(err)
	}
	want := ledger.DefaultPolicy()
	want.Idempotent, want.Timeout, want.Attempts, want.Backoff, want.MaxBackoff = true, 30*time.Second, 5, 2*time.Second, 90*time.Second
	if d := cmp.Diff(want, task.Policy); d != "" {
		t.Error(d)
	}
	if task.Jobs != 8 || !task.AllowEmpty || task.Namespace != "shop" || !grant.HasRecords || grant.Location.String() != "Asia/Shanghai" {
		t.Errorf("got %+v", task)
	}
	spec := grant.plan.spec.(*commandSpec)
	wantSpec := &commandSpec{
		Argv: []string{"./grant.sh", "{{.biz_id}}", "012", "yes", "1_000", "2026-01-01", "--name={{.fields.name}}"},
		Base: c.Dir, Beside: true, Dir: filepath.Join(c.Dir, "work"), Stdin: "json",
		Noop: []int{10}, Permanent: []int{20, 21}, Later: []int{75}, KeepOutput: "all",
	}
	if d := cmp.Diff(wantSpec, spec); d != "" {
		t.Error(d)
	}
	if p := c.Tasks[1].plan.policy; p.Timeout != 0 {
		t.Errorf("timeout 0 became %v", p.Timeout)
	}
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, "tasks: {a: {go: noop}}")
	task, err := c.Tasks[0].Build(0)
	if err != nil {
		t.Fatal(err)
	}
	if !c.CreateLedger || c.Ledger != "" || c.TimeZone == "" || c.Tasks[0].Location != time.Local || c.Tasks[0].HasRecords {
		t.Errorf("got %+v", c)
	}
	if task.Rate != 0 || task.MaxFailures.Limited || task.Overlap != runner.Join || task.MaxWait != 10*time.Minute {
		t.Errorf("got %+v", task)
	}
	if task.Jobs != runtime.GOMAXPROCS(0) || task.Policy != ledger.DefaultPolicy() {
		t.Errorf("got %+v", task)
	}
	if task, err = c.Tasks[0].Build(3); err != nil || task.Jobs != 3 {
		t.Errorf("jobs %d, %v", task.Jobs, err)
	}
	if _, err = c.Tasks[0].Build(-1); err == nil {
		t.Error("a negative number of jobs was taken")
	}
}

func TestLongBackoffRaisesItsMaximum(t *testing.T) {
	c := mustLoad(t, "tasks: {a: {go: noop, retry: {backoff: 5m}}}")
	if p := c.Tasks[0].plan.policy; p.MaxBackoff != 5*time.Minute {
		t.Errorf("max_backoff is %v", p.MaxBackoff)
	}
}

func TestAnchorsAndMergesWork(t *testing.T) {
	c := mustLoad(t, `
tasks:
  a: &a
    run: &argv [echo, x]
    jobs: 3
    retry: &r {attempts: 7}
  b:
    <<: *a
    jobs: 4
  c:
    run: *argv
    retry: {<<: *r, backoff: 9s}
`)
	a, b, third := c.Tasks[0].plan, c.Tasks[1].plan, c.Tasks[2].plan
	if a.jobs != 3 || b.jobs != 4 || b.policy.Attempts != 7 || third.policy.Attempts != 7 || third.policy.Backoff != 9*time.Second {
		t.Errorf("got %+v, %+v, %+v", a, b, third)
	}
	if d := cmp.Diff(a.spec, third.spec); d != "" {
		t.Error(d)
	}
}

func TestUnknownTaskNamesTheKnownOnes(t *testing.T) {
	c := mustLoad(t, "tasks: {grant-coupon: {go: noop}, close-orders: {go: noop}}")
	if task, err := c.Task("close-orders"); err != nil || task.Name != "close-orders" {
		t.Errorf("got %v, %v", task, err)
	}
	_, err := c.Task("grant-cupon")
	var h *HintError
	if !errors.As(err, &h) || !strings.Contains(h.Msg, `did you mean "grant-coupon"?`) || !strings.Contains(h.Hint, "grant-coupon, close-orders") {
		t.Errorf("got %#v", err)
	}
}

func TestMissingConfigurationIsNoConfigError(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "runner.yaml"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAddressesOfLedgersAreNoPaths(t *testing.T) {
	t.Setenv("TASKS_TEST_PASS", "p w")
	c := mustLoad(t, "ledger: postgres://u:${TASKS_TEST_PASS}@h/db\ntasks: {a: {go: noop}}")
	if c.Ledger != "postgres://u:p w@h/db" {
		t.Errorf("got %q", c.Ledger)
	}
}
