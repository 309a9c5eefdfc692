//go:build unix

package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/output"
)

// helperAction is a command action that runs this test binary.
func helperAction(t testing.TB, helper string, argv ...string) *commandAction {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return newAction(t, commandSpec{Argv: append([]string{self}, argv...), Base: dir, Dir: dir},
		variablePair{helperVariable, helper})
}

func newAction(t testing.TB, s commandSpec, env ...variablePair) *commandAction {
	t.Helper()
	a := s.action(surroundings{env: env, mask: output.NewMasker(nil)}).(*commandAction)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func attempt() runner.Attempt {
	return runner.Attempt{
		Record: runner.Record{
			Key: ledger.Key{TaskName: "grant", BizID: "u 1", ExecuteDate: "2026-11-29"},
			ID:  "run7-3-5", RunID: "run7", Number: 2, Fence: 5, Generation: 1, IdempotencyKey: "r1-abc",
			Fields:  map[string]string{"name": "Lee, Ann", "user-id": "0010"},
			Payload: []byte(`{"user-id":"0010","name":"Lee, Ann"}`),
		},
		Started: func(int) {}, Kill: make(chan struct{}),
	}
}

func act(t testing.TB, a *commandAction) runner.Result {
	t.Helper()
	return a.Act(context.Background(), attempt())
}

func wantOutcome(t testing.TB, r runner.Result, o ledger.Outcome, message string) {
	t.Helper()
	if r.Outcome != o || r.Error != message {
		t.Errorf("got %s, error %q; want %s, %q", r.Outcome, r.Error, o, message)
	}
}

// Case 17: fields come only in arguments and environment.
func TestRecordComesInArgumentsAndEnvironment(t *testing.T) {
	t.Setenv("RUNNER_BIZ_ID", "of an outer runner")
	t.Setenv("RUNNER_FIELD_OUTER", "of an outer runner")
	t.Setenv("SHOW_INHERITED", "yes")
	a := helperAction(t, "show", "{{.biz_id}}", "{}", `{{.fields.name}}; touch x`, `{{index .fields "user-id"}}`, "{{.execute_date}}/{{.generation}}")
	a.env = append(a.env, variablePair{"SHOW_SET", "by task"})
	a.spec.KeepOutput = keepAll
	r := act(t, a)
	wantOutcome(t, r, ledger.Succeeded, "")
	if r.Detail != ledger.DetailApplied || r.ExitCode == nil || *r.ExitCode != 0 {
		t.Errorf("got %+v", r)
	}
	want := []string{
		fmt.Sprintf(`["u 1" "{}" "Lee, Ann; touch x" "0010" "2026-11-29/1"] in %s`, a.spec.Dir),
		"RUNNER_ATTEMPT=2", "RUNNER_ATTEMPT_ID=run7-3-5", "RUNNER_BIZ_ID=u 1", "RUNNER_EXECUTE_DATE=2026-11-29", "RUNNER_FENCE=5",
		"RUNNER_FIELD_NAME=Lee, Ann", "RUNNER_FIELD_USER_ID=0010", "RUNNER_GENERATION=1", "RUNNER_IDEMPOTENCY_KEY=r1-abc", "RUNNER_PHASE=act",
		"RUNNER_RESULT=" + a.scratch.dir + "/1", "RUNNER_RUN_ID=run7", "RUNNER_TASK_NAME=grant", "SHOW_INHERITED=yes", "SHOW_SET=by task",
	}
	got := strings.Split(strings.TrimSpace(r.Output), "\n")
	if d := cmp.Diff(want, sortedTail(got)); d != "" {
		t.Error(d)
	}
}

func TestShellGetsTheRecordAsArgumentAndVariable(t *testing.T) {
	dir := t.TempDir()
	a := newAction(t, commandSpec{Script: `printf '%s|%s|%s' "$0" "$1" "$RUNNER_BIZ_ID"`, Base: dir, Dir: dir, KeepOutput: keepAll})
	at := attempt()
	at.BizID = "'; touch x; $(touch y) `touch z`"
	r := a.Act(context.Background(), at)
	wantOutcome(t, r, ledger.Succeeded, "")
	if want := "sh|" + at.BizID + "|" + at.BizID; r.Output != want {
		t.Errorf("got %q, want %q", r.Output, want)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the shell ran a field: %v", left)
	}
}

// Case 84: the action ate the list from stdin.
func TestStdinIsEmptyOrTheRecord(t *testing.T) {
	a := helperAction(t, "cat")
	a.spec.KeepOutput = keepAll
	if r := act(t, a); r.Output != "[0 bytes, <nil>]\n" {
		t.Errorf("got %q", r.Output)
	}
	a = helperAction(t, "cat")
	a.spec.KeepOutput, a.spec.Stdin = keepAll, stdinJSON
	want := `{"task_name":"grant","biz_id":"u 1","execute_date":"2026-11-29","generation":1,"attempt":2,"idempotency_key":"r1-abc","fields":{"user-id":"0010","name":"Lee, Ann"}}` + "\n"
	if r := act(t, a); r.Output != want+fmt.Sprintf("[%d bytes, <nil>]\n", len(want)) {
		t.Errorf("got %q", r.Output)
	}
}

func TestExitCodesAreJudged(t *testing.T) {
	for _, c := range []struct {
		code    string
		outcome ledger.Outcome
		detail  string
		message string
	}{
		{"0", ledger.Succeeded, ledger.DetailApplied, ""},
		{"10", ledger.Succeeded, ledger.DetailNoop, ""},
		{"20", ledger.FailedForGood, "", "exit status 20: why"},
		{"3", ledger.FailedAttempt, "", "exit status 3: why"},
		{"75", ledger.FailedAttempt, "", "exit status 75: why"},
		{"143", ledger.FailedAttempt, "", "exit status 143: why"},
	} {
		a := helperAction(t, "exit", c.code, "why")
		a.spec.Noop, a.spec.Permanent = []int{10}, []int{20}
		r := act(t, a)
		wantOutcome(t, r, c.outcome, c.message)
		if r.Detail != c.detail || r.ExitCode == nil || strconv.Itoa(*r.ExitCode) != c.code {
			t.Errorf("%s: got %+v", c.code, r)
		}
	}
}

func TestKilledBySomebodyIsUnknown(t *testing.T) {
	dir := t.TempDir()
	a := newAction(t, commandSpec{Script: "kill -9 $$", Base: dir, Dir: dir})
	r := act(t, a)
	wantOutcome(t, r, ledger.Unknown, "killed by signal: killed")
	if r.ExitCode != nil {
		t.Errorf("exit code %d", *r.ExitCode)
	}
}

func TestUnknownFieldFailsTheRecordForGood(t *testing.T) {
	a := helperAction(t, "show", "{{.fields.nme}}")
	wantOutcome(t, act(t, a), ledger.FailedForGood,
		`argument "{{.fields.nme}}" doesn't fit the record: map has no entry for key "nme"; its fields are name, user-id`)
	a = helperAction(t, "show", `{{index .fields "nme"}}`)
	if r := act(t, a); r.Outcome != ledger.FailedForGood {
		t.Errorf("got %+v", r)
	}
	at := attempt()
	at.Fields = map[string]string{"a-b": "", "A_B": ""}
	r := helperAction(t, "show").Act(context.Background(), at)
	wantOutcome(t, r, ledger.FailedForGood, `fields "A_B" and "a-b" would both be RUNNER_FIELD_A_B in the environment`)
}

func TestCloseRemovesTheFolder(t *testing.T) {
	a := helperAction(t, "show")
	act(t, a)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(a.scratch.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// sortedTail sorts all lines but the first.
func sortedTail(lines []string) []string {
	slices.Sort(lines[1:])
	return lines
}
