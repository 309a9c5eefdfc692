//go:build unix

package tasks

import (
	"context"
	"strings"
	"testing"
	"time"

	"runner/ledger"
	"runner/runner"
)

// probing is a command that runs this test binary as a check or compensation.
func probing(t testing.TB, ph ledger.Phase, helper string, argv ...string) *commandAction {
	t.Helper()
	a := helperAction(t, helper, argv...)
	a.phase = ph
	return a
}

func TestExitCodesOfChecksAndCompensationsAreJudged(t *testing.T) {
	for _, c := range []struct {
		phase   ledger.Phase
		code    string
		outcome ledger.Outcome
		message string
		output  string
	}{
		{ledger.Check, "0", ledger.Applied, "", ""},
		{ledger.Check, "1", ledger.Absent, "", ""},
		{ledger.Check, "2", ledger.Partial, "", ""},
		{ledger.Check, "3", ledger.Unclear, "check: exit status 3: why", "why\n"},
		{ledger.Check, "75", ledger.Unclear, "check: exit status 75: why", "why\n"},
		{ledger.Check, "127", ledger.Unclear, "check: exit status 127: why", "why\n"},
		{ledger.Check, "143", ledger.Unclear, "check: exit status 143: why", "why\n"},
		{ledger.Compensate, "0", ledger.Succeeded, "", ""},
		{ledger.Compensate, "1", ledger.FailedAttempt, "exit status 1: why", "why\n"},
		{ledger.Compensate, "75", ledger.FailedAttempt, "exit status 75: why", "why\n"},
	} {
		r := act(t, probing(t, c.phase, "exit", c.code, "why"))
		wantOutcome(t, r, c.outcome, c.message)
		if r.Detail != "" || r.Output != c.output || r.ExitCode == nil {
			t.Errorf("%s %s: got %+v", c.phase, c.code, r)
		}
	}
}

// A check that is told to end may exit with any code for that alone.
func TestCheckThatWasToldToEndAnswersNothing(t *testing.T) {
	for _, cause := range []error{runner.ErrTimeout, runner.ErrInterrupted} {
		for _, reply := range []string{"0", "1", "2", "143", "default"} {
			path := fifo(t)
			r := start(context.Background(), t, probing(t, ledger.Check, "hang", path, reply))
			await(t, path)
			r.cancel(cause)
			got := <-r.result
			if got.Outcome != ledger.Unclear || !strings.HasPrefix(got.Error, "check: ") {
				t.Errorf("%v, %s: got %+v", cause, reply, got)
			}
		}
	}
}

func TestCompensationThatWasCutOffIsUnknown(t *testing.T) {
	for _, reply := range []string{"0", "default"} {
		path := fifo(t)
		r := start(context.Background(), t, probing(t, ledger.Compensate, "hang", path, reply))
		await(t, path)
		r.cancel(runner.ErrTimeout)
		if got := <-r.result; got.Outcome != ledger.Unknown || !strings.HasPrefix(got.Error, "timeout after ") {
			t.Errorf("%s: got %+v", reply, got)
		}
	}
}

func TestCheckKilledBySomebodyOrUnfitCannotTell(t *testing.T) {
	dir := t.TempDir()
	a := newAction(t, commandSpec{Script: "kill -9 $$", Base: dir, Dir: dir})
	a.phase = ledger.Check
	wantOutcome(t, act(t, a), ledger.Unclear, "check: killed by signal: killed")

	for _, ph := range []ledger.Phase{ledger.Check, ledger.Compensate} {
		a = probing(t, ph, "exit", "{{.fields.nme}}")
		r := act(t, a)
		if want := map[ledger.Phase]ledger.Outcome{ledger.Check: ledger.Unclear, ledger.Compensate: ledger.FailedAttempt}[ph]; r.Outcome != want {
			t.Errorf("%s: got %+v", ph, r)
		}
		if !strings.Contains(r.Error, `no entry for key "nme"`) {
			t.Errorf("got %q", r.Error)
		}
	}
}

// A check that never started answered nothing: the record goes back to what
// it was, and a program that vanished halts the run, as in any phase.
func TestCheckThatWasNeverStartedIsGivenBack(t *testing.T) {
	a := probing(t, ledger.Check, "exit", "0")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(runner.ErrInterrupted)
	wantOutcome(t, a.Act(ctx, attempt()), ledger.NotStarted, "interrupted")

	if err := a.Prepare(); err != nil {
		t.Fatal(err)
	}
	a.program += "-gone"
	if r := act(t, a); r.Outcome != ledger.NotStarted || !r.Halt || !strings.HasPrefix(r.Error, "check: ") {
		t.Errorf("got %+v", r)
	}
}

func TestCheckKeepsItsResult(t *testing.T) {
	r := act(t, probing(t, ledger.Check, "result", "0", "result=tx-77"))
	if r.Outcome != ledger.Applied || r.Result != "tx-77" {
		t.Errorf("got %+v", r)
	}
}

func TestPhaseIsInTheEnvironment(t *testing.T) {
	t.Setenv("RUNNER_PHASE", "of an outer runner")
	for _, ph := range []ledger.Phase{ledger.Act, ledger.Check, ledger.Compensate} {
		a := probing(t, ph, "show")
		a.spec.KeepOutput = keepAll
		r := act(t, a)
		if strings.Count(r.Output, "RUNNER_PHASE=") != 1 || !strings.Contains(r.Output, "\nRUNNER_PHASE="+ph.String()+"\n") ||
			!strings.Contains(r.Output, "\nRUNNER_ATTEMPT_ID=run7-3-5\n") {
			t.Errorf("%s: got %s", ph, r.Output)
		}
	}
}

func TestTimeoutOfACheckNamesTheLimit(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, runner.ErrTimeout)
	defer cancel()
	dir := t.TempDir()
	a := newAction(t, commandSpec{Script: "exec sleep 1000", Base: dir, Dir: dir})
	a.phase = ledger.Check
	at := attempt()
	at.Timeout = 300 * time.Millisecond
	wantOutcome(t, a.Act(ctx, at), ledger.Unclear, "check: timeout after 300ms")
}
