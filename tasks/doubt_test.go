//go:build unix

package tasks

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/runner"
)

func TestKeysForDoubtsArrive(t *testing.T) {
	c := mustLoad(t, `
tasks:
  a:
    run: [./pay.sh]
    dir: sub
    stdin: json
    keep_output: all
    exit_codes: {noop: [1], permanent: [2]}
    check: [./paid.sh, "{{.biz_id}}"]
    check_after: 5s
    check_first: true
    check_timeout: 10s
    compensate: [./refund.sh]
    compensate_timeout: 20s
  b: {shell: x, timeout: 10s, check: [y]}
  c: {go: noop, timeout: 10s, check: [y], env: {A: b}}
  d: {go: noop, timeout: 0, check: [y], check_after: 0s}
`)
	for i, want := range []ledger.Policy{
		{Check: true, Compensate: true, CheckFirst: true, CheckAfter: 5 * time.Second, CheckTimeout: 10 * time.Second, CompensateTimeout: 20 * time.Second, Timeout: time.Hour},
		{Check: true, CheckTimeout: time.Minute, CompensateTimeout: time.Minute, Timeout: 10 * time.Second},
		{Check: true, CheckTimeout: time.Minute, CompensateTimeout: time.Minute, Timeout: 10 * time.Second, CheckAfter: 10 * time.Second},
		{Check: true, CheckTimeout: time.Minute, CompensateTimeout: time.Minute},
	} {
		d := ledger.DefaultPolicy()
		want.Attempts, want.Backoff, want.MaxBackoff, want.MaxLater = d.Attempts, d.Backoff, d.MaxBackoff, d.MaxLater
		if diff := cmp.Diff(want, c.Tasks[i].plan.policy); diff != "" {
			t.Errorf("%s: %s", c.Tasks[i].Name, diff)
		}
	}
	task, err := c.Tasks[0].Build(1)
	if err != nil {
		t.Fatal(err)
	}
	spec := commandSpec{Argv: []string{"./paid.sh", "{{.biz_id}}"}, Base: c.Dir, Beside: true, Dir: c.Dir + "/sub", Stdin: "json", KeepOutput: "all"}
	if d := cmp.Diff(spec, task.Check.(*commandAction).spec); d != "" {
		t.Error(d)
	}
	if a := task.Compensate.(*commandAction); a.phase != ledger.Compensate || a.spec.Argv[0] != "./refund.sh" || task.Check.(*commandAction).phase != ledger.Check {
		t.Errorf("got %+v", a)
	}
}

func TestMistakesInKeysForDoubts(t *testing.T) {
	got := problems(t, `
tasks:
  a: {run: [x], compensate: [y], compensate_timeout: 1m}
  b: {run: [x], check_after: 1s, check_first: true, check_timeout: 1s, compensate_timeout: 1s}
  c: {run: [x], check: ./y.sh, compensate: z}
  d: {run: [x], check: ['{{.biz_id}}', '{{.nme}}'], compensate: []}
  e: {run: [x], timeout: 0, check: [y]}
  f: {go: noop, timeout: 0, check: [y], exit_codes: {noop: [1]}, check_timeout: 0, check_after: -1s}
`)
	want := []string{
		`3:29: "compensate" needs a "check"`,
		`4:30: "check_after" needs a "check"`,
		`4:47: "check_first" needs a "check"`,
		`4:68: "check_timeout" needs a "check"`,
		`4:92: "compensate_timeout" needs a "compensate"`,
		`5:24: "check" wants a list, not "./y.sh"`,
		`5:44: "compensate" wants a list, not "z"`,
		`6:25: the program can't be a template: "{{.biz_id}}"`,
		`6:40: template "{{.nme}}": there is no .nme, only .biz_id, .execute_date, .task_name, .generation, .idempotency_key, .fields`,
		`6:65: "compensate" is an empty list`,
		`7:26: with "timeout" 0 a task with a check must give "check_after"`,
		`8:53: "exit_codes" is for commands, not for a Go function`,
		`8:81: "check_timeout" must be more than 0`,
		`8:97: "check_after" is negative: -1s`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	_, err := load(t, "tasks: {a: {run: [x], check: ./y.sh}}")
	var ce *ConfigError
	if !errors.As(err, &ce) || !strings.Contains(ce.Problems[0].Hint, "brackets") {
		t.Errorf("got %v", err)
	}
}

func TestCheckAndCompensationMustBeThereBeforeAnythingRuns(t *testing.T) {
	for missing, keys := range map[string]string{
		"check":      "check: [./gone.sh]",
		"compensate": `check: ["true"], compensate: [./gone.sh]`,
	} {
		for _, action := range []string{`run: ["true"]`, "go: noop"} {
			task, err := mustLoad(t, "tasks: {a: {"+action+", "+keys+"}}").Tasks[0].Build(1)
			if err != nil {
				t.Fatal(err)
			}
			if err := task.Action.Prepare(); err == nil || !strings.HasPrefix(err.Error(), missing+": ./gone.sh: not found") {
				t.Errorf("%s: got %v", missing, err)
			}
			if err := task.Action.(companions).Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestClosingATaskRemovesTheFoldersOfAllItsCommands(t *testing.T) {
	task, err := mustLoad(t, `tasks: {a: {run: ["true"], check: ["true"], compensate: ["true"]}}`).Tasks[0].Build(1)
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, a := range []*commandAction{task.Action.(companions).Action.(*commandAction), task.Check.(*commandAction), task.Compensate.(*commandAction)} {
		a.Act(t.Context(), attempt())
		dirs = append(dirs, a.scratch.dir)
	}
	if err := task.Action.(companions).Close(); err != nil {
		t.Error(err)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); dir == "" || !os.IsNotExist(err) {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

func TestTimeoutGivenForOneRunMovesWhatFollowsFromIt(t *testing.T) {
	c := mustLoad(t, `tasks: {a: {go: noop, check: [x]}, b: {go: noop, check: [x], check_after: 1s}, c: {run: [x], check: [x]}, d: {run: [x]}}`)
	for i, want := range []time.Duration{time.Minute, time.Second, 0, 0} {
		task := c.Tasks[i]
		if err := task.SetTimeout(time.Minute); err != nil || task.plan.policy.CheckAfter != want || task.plan.policy.Timeout != time.Minute {
			t.Errorf("%s: %v, check_after %s, want %s", task.Name, err, task.plan.policy.CheckAfter, want)
		}
		var h *HintError
		if err := task.SetTimeout(0); errors.As(err, &h) != (i == 0 || i == 2) {
			t.Errorf("%s without a timeout: %v", task.Name, err)
		}
	}
}

func TestStoredDefinitionsKeepCheckAndCompensation(t *testing.T) {
	t.Setenv("TASKS_TEST_TOKEN", "s3cr3t")
	c := mustLoad(t, `tasks: {a: {go: noop, check: [./paid.sh, "{{.biz_id}}"], check_after: 3s, compensate: [./refund.sh]}}`)
	built, err := c.Tasks[0].Build(1)
	if err != nil {
		t.Fatal(err)
	}
	text, digest := built.Definition.Encode()
	var d runner.Definition
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	again, err := FromDefinition("a", d, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, digest2 := again.Definition.Encode(); digest2 != digest || again.Policy != built.Policy {
		t.Errorf("got %+v, want %+v", again.Policy, built.Policy)
	}
	for _, pair := range [][2]runner.Action{{built.Check, again.Check}, {built.Compensate, again.Compensate}} {
		was, is := pair[0].(*commandAction), pair[1].(*commandAction)
		if d := cmp.Diff(was.spec, is.spec); d != "" || was.phase != is.phase {
			t.Errorf("phase %s became %s, %s", was.phase, is.phase, d)
		}
	}
	d.Check = nil
	if _, err := FromDefinition("a", d, 1); err == nil || !strings.Contains(err.Error(), "check") {
		t.Errorf("a definition that lost its check: %v", err)
	}

	for _, e := range []Exec{
		{Name: "a", Command: []string{"x"}, Check: "curl s3cr3t"},
		{Name: "a", Command: []string{"x"}, Check: "y", Compensate: "curl s3cr3t"},
	} {
		e.Secrets = []string{"TASKS_TEST_TOKEN"}
		task, err := e.Build(1)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := task.Definition.Encode(); strings.Contains(string(text), "s3cr3t") || !task.Definition.Incomplete {
			t.Errorf("stored: %s", text)
		}
	}
}

func TestExecTakesCheckAndCompensation(t *testing.T) {
	wd, _ := os.Getwd()
	after, none := 3*time.Second, time.Duration(0)
	task, err := Exec{Name: "a", Command: []string{"./pay.sh"}, Check: `grep -qx "{} ok" paid`, Compensate: "./refund.sh", CheckAfter: &after, Timeout: &none}.Build(1)
	if err != nil {
		t.Fatal(err)
	}
	want := ledger.DefaultPolicy()
	want.Check, want.Compensate, want.CheckAfter, want.Timeout = true, true, after, 0
	if d := cmp.Diff(want, task.Policy); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(commandSpec{Argv: []string{"grep", "-qx", "{} ok", "paid"}, Braces: true, Base: wd, Dir: wd}, task.Check.(*commandAction).spec); d != "" {
		t.Error(d)
	}
	task, err = Exec{Name: "a", Command: []string{"x"}, Shell: true, Check: `grep -q "$1" x | y`}.Build(1)
	if err != nil || task.Check.(*commandAction).spec.Script != `grep -q "$1" x | y` || task.Compensate != nil {
		t.Errorf("got %+v, %v", task, err)
	}
}

func TestExecRefusesChecksThatItCannotMean(t *testing.T) {
	none, minus := time.Duration(0), -time.Second
	for _, c := range []struct {
		e    Exec
		want string
	}{
		{Exec{Compensate: "y"}, "a compensation needs a check"},
		{Exec{CheckAfter: &none}, "there is no check"},
		{Exec{Check: "y", CheckAfter: &minus}, "negative"},
		{Exec{Check: "y", Timeout: &none}, "without a timeout"},
		{Exec{Check: "y 'z"}, "check: a ' is never closed"},
		{Exec{Check: " "}, "check: no command is given"},
		{Exec{Check: `""`}, "check: no command is given"},
		{Exec{Check: "{} x"}, "check: the program itself can't be {}"},
		{Exec{Check: "y {}", Shell: true}, "check: a shell script can't hold {}"},
		{Exec{Check: "y", Compensate: "z | w"}, "compensation: no shell reads this"},
	} {
		c.e.Name, c.e.Command = "a", []string{"x"}
		if _, err := c.e.Build(1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want …%s…", c.e, err, c.want)
		}
	}
}
