package tasks

import (
	"context"
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

func TestBracesAreTheBizIdWhereverTheyStand(t *testing.T) {
	for _, c := range []struct{ command, want []string }{
		{[]string{"echo"}, []string{"echo", "u 1"}},
		{[]string{"echo", "x"}, []string{"echo", "x", "u 1"}},
		{[]string{"echo", "{}", "--id={}/{}"}, []string{"echo", "u 1", "--id=u 1/u 1"}},
		{[]string{"echo", "{{.biz_id}}", "{"}, []string{"echo", "{{.biz_id}}", "{", "u 1"}},
	} {
		task, err := Exec{Name: "a", Command: c.command}.Build(1)
		if err != nil {
			t.Fatal(err)
		}
		a := task.Action.(*commandAction)
		if err := a.Prepare(); err != nil {
			t.Fatal(err)
		}
		at := runner.Attempt{Record: runner.Record{Key: ledger.Key{BizID: "u 1"}}}
		w := &workspace{}
		if err := a.fill(w, &at, ""); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, w.argv); d != "" {
			t.Error(d)
		}
		a.Close()
	}
}

func TestExecBuildsATask(t *testing.T) {
	timeout, retries := 5*time.Second, 0
	task, err := Exec{
		Name: "grant", Command: []string{"./x", "{}"}, Dir: "sub", Idempotent: true, Namespace: "shop",
		Timeout: &timeout, Retries: &retries, TimeZone: "UTC", AllowEmpty: true,
	}.Build(4)
	if err != nil {
		t.Fatal(err)
	}
	want := ledger.DefaultPolicy()
	want.Idempotent, want.Timeout, want.Attempts = true, timeout, 1
	if d := cmp.Diff(want, task.Policy); d != "" || task.Jobs != 4 || !task.AllowEmpty || task.Namespace != "shop" {
		t.Errorf("got %+v %s", task, d)
	}
	wd, _ := os.Getwd()
	action, _ := json.Marshal(map[string]any{"argv": []string{"./x", "{}"}, "braces": true, "base": wd + "/sub", "dir": wd + "/sub", "later": []int{75}})
	if d := cmp.Diff(jsonValue(t, action), jsonValue(t, task.Definition.Action)); d != "" {
		t.Error(d)
	}
	d := task.Definition
	if d.Kind != "run" || d.TimeZone != "UTC" || d.Namespace != "shop" || d.Policy != want || d.Incomplete {
		t.Errorf("got %+v", d)
	}
}

func jsonValue(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestExecRefusesWhatItCannotMean(t *testing.T) {
	minus, negative := -1, -time.Second
	for _, c := range []struct {
		e    Exec
		want string
	}{
		{Exec{Name: "-x", Command: []string{"a"}}, "task name"},
		{Exec{Name: "x"}, "no command"},
		{Exec{Name: "x", Command: []string{""}}, "no command"},
		{Exec{Name: "x", Command: []string{"{}"}}, "the program itself can't be {}"},
		{Exec{Name: "x", Command: []string{"echo {}"}, Shell: true}, "a shell script can't hold {}"},
		{Exec{Name: "x", Command: []string{"echo", "a"}, Shell: true}, "a shell script is one argument, not 2"},
		{Exec{Name: "x", Command: []string{"a"}, Retries: &minus}, "retries is negative"},
		{Exec{Name: "x", Command: []string{"a"}, Timeout: &negative}, "timeout is negative"},
		{Exec{Name: "x", Command: []string{"a"}, Secrets: []string{""}}, "can't name"},
	} {
		if _, err := c.e.Build(1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want …%s…", c.e, err, c.want)
		}
	}
}

func TestStoredDefinitionsBuildTheSameTask(t *testing.T) {
	t.Setenv("TASKS_TEST_NAME", "x")
	t.Setenv("ACTIVITY", "1111")
	c := mustLoad(t, fullConfig)
	for _, task := range c.Tasks {
		built, err := task.Build(2)
		if err != nil {
			t.Fatal(err)
		}
		text, digest := built.Definition.Encode()
		var d runner.Definition
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		again, err := FromDefinition(task.Name, d, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, digest2 := again.Definition.Encode(); digest2 != digest {
			t.Errorf("%s: digest %s became %s", task.Name, digest, digest2)
		}
		if again.Name != built.Name || again.Policy != built.Policy || again.Namespace != built.Namespace || again.Jobs != 2 {
			t.Errorf("got %+v, want %+v", again, built)
		}
		if a, ok := built.Action.(*commandAction); ok {
			if d := cmp.Diff(a.spec, again.Action.(*commandAction).spec); d != "" {
				t.Error(d)
			}
		}
	}
}

// Case 50: secrets are stored nowhere.
func TestSecretsAreNotStored(t *testing.T) {
	t.Setenv("TASKS_TEST_TOKEN", "s3cr3t")
	for _, e := range []Exec{
		{Name: "a", Command: []string{"curl", "-Htoken: s3cr3t", "{}"}, Secrets: []string{"TASKS_TEST_TOKEN"}},
		{Name: "a", Command: []string{"curl s3cr3t"}, Shell: true, Secrets: []string{"TASKS_TEST_TOKEN"}},
	} {
		task, err := e.Build(1)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := task.Definition.Encode()
		if strings.Contains(string(text), "s3cr3t") || !strings.Contains(string(text), "***") || !task.Definition.Incomplete {
			t.Errorf("stored: %s", text)
		}
		var h *HintError
		if _, err := FromDefinition("a", task.Definition, 1); !errors.As(err, &h) || !strings.Contains(h.Hint, "give the command") {
			t.Errorf("got %v", err)
		}
	}
	c := mustLoad(t, "tasks: {a: {run: [x], env: {TASKS_TEST_ONE: v4lue}, secrets: [TASKS_TEST_ONE]}}")
	task, err := c.Tasks[0].Build(1)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := task.Definition.Encode()
	if strings.Contains(string(text), "v4lue") || !strings.Contains(string(text), `"env":["TASKS_TEST_ONE"],"secrets":["TASKS_TEST_ONE"]`) {
		t.Errorf("stored: %s", text)
	}
	if got := task.Action.(*commandAction).mask.String("is v4lue"); got != "is ***" {
		t.Errorf("got %q", got)
	}
	if _, err := FromDefinition("a", task.Definition, 1); err == nil || !strings.Contains(err.Error(), "TASKS_TEST_ONE") {
		t.Errorf("got %v", err)
	}
}

func TestDefinitionsOfNoUseAreRefused(t *testing.T) {
	for _, d := range []runner.Definition{
		{Kind: "ftp"}, {Kind: "run", Action: []byte(`{}`)}, {Kind: "run", Action: []byte(`[`)},
		{Kind: "go", Action: []byte(`{"function":"gone"}`)},
	} {
		if _, err := FromDefinition("a", d, 1); err == nil {
			t.Errorf("%+v was taken", d)
		}
	}
}

func TestGoFunctions(t *testing.T) {
	functions = append(functions, struct {
		name string
		call runner.Function
	}{"boom", func(context.Context, runner.Record) (runner.Result, error) { panic("at the disco") }})
	t.Cleanup(func() { functions = functions[:len(functions)-1] })
	c := mustLoad(t, "tasks: {a: {go: noop}, b: {go: boom}}")
	for i, want := range []runner.Result{
		{Outcome: ledger.Succeeded, Detail: ledger.DetailNoop},
		{Outcome: ledger.FailedAttempt, Error: "panic: at the disco"},
	} {
		task, err := c.Tasks[i].Build(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Action.Prepare(); err != nil {
			t.Fatal(err)
		}
		got := task.Action.Act(t.Context(), runner.Attempt{})
		if i == 1 && !strings.Contains(got.Output, "exec_test.go") {
			t.Errorf("no trace: %q", got.Output)
		}
		got.Output = ""
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
}
