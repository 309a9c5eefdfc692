//go:build unix

package tasks

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/output"
)

// Case 26, the part of the action: later is a lower bound, and 0 is not never.
func TestExitCodesAskForLater(t *testing.T) {
	const bad = "exit status 75\nRUNNER_RESULT: retry_after="
	for _, c := range []struct {
		code, line string
		after      time.Duration
		err        string
	}{
		{"75", "", 30 * time.Second, "exit status 75"},
		{"75", "retry_after=90s", 90 * time.Second, "exit status 75"},
		{"75", "retry_after=1h30m", 90 * time.Minute, "exit status 75"},
		{"75", "retry_after=7", 7 * time.Second, "exit status 75"},
		{"75", "retry_after=0", time.Second, "exit status 75"},
		{"75", "retry_after=1ms\r", time.Second, "exit status 75"},
		{"75", "retry_after=", 30 * time.Second, "exit status 75"},
		{"75", "retry_after=soon", 30 * time.Second, bad + "soon is no duration such as 30s; 30s is taken"},
		{"75", "retry_after=-1s", 30 * time.Second, bad + "-1s is no duration such as 30s; 30s is taken"},
		{"75", "retry_after=99999h", 30 * time.Second, bad + "99999h is no duration such as 30s; 30s is taken"},
		{"76", "retry_after=5s", 5 * time.Second, "exit status 76"},
	} {
		a := helperAction(t, "result", c.code, c.line)
		a.spec.Later = []int{75, 76}
		r := act(t, a)
		wantOutcome(t, r, ledger.AskedLater, c.err)
		if r.RetryAfter != c.after {
			t.Errorf("%s %s: got %s", c.code, c.line, r.RetryAfter)
		}
	}
	for _, code := range []string{"0", "1"} {
		r := act(t, helperAction(t, "result", code, "retry_after=soon"))
		if r.RetryAfter != 0 || r.Outcome == ledger.AskedLater {
			t.Errorf("exit %s: got %+v", code, r)
		}
	}
}

func TestLaterIs75UnlessTheTaskSaysElse(t *testing.T) {
	for text, want := range map[string][]int{
		"":                                        {75},
		", exit_codes: {noop: [3]}":               {75},
		", exit_codes: {noop: [75]}":              nil,
		", exit_codes: {permanent: [75]}":         nil,
		", exit_codes: {later: []}":               {},
		", exit_codes: {later: [9, 10]}":          {9, 10},
		", exit_codes: {later: [9, 75]}":          {9, 75},
		", exit_codes: {permanent: [], noop: []}": {75},
	} {
		for _, kind := range []string{"run: [x]", "shell: x"} {
			c := mustLoad(t, "tasks: {a: {"+kind+text+"}}")
			if d := cmp.Diff(want, c.Tasks[0].plan.spec.(*commandSpec).Later); d != "" {
				t.Errorf("%s: %s", text, d)
			}
		}
	}
}

func TestGoFunctionsAskForLater(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 30 * time.Second, 1: time.Second, time.Minute: time.Minute} {
		a := &goAction{mask: output.NewMasker(nil), call: func(context.Context, runner.Record) (runner.Result, error) {
			return runner.Result{}, runner.RetryAfter(given)
		}}
		if r := a.Act(context.Background(), attempt()); r.Outcome != ledger.AskedLater || r.RetryAfter != want {
			t.Errorf("%s: got %+v", given, r)
		}
	}
}
