package tasks

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/process"
)

// By convention a shell exits so when a signal ended what it ran.
const (
	exitTermed = 128 + 15
	exitKilled = 128 + 9
)

// judge says what the end of a process means. Nothing that we signalled is
// certain, unless it failed by itself. cause is that of the ended context.
func (a *commandAction) judge(e process.Exit, cause error, limit time.Duration) runner.Result {
	r := runner.Result{Error: "killed by signal: " + e.Signal}
	if e.Signal == "" {
		r.ExitCode = &e.Code
		r.Error = fmt.Sprintf("exit status %d", e.Code)
	}
	success := e.Code == 0 || slices.Contains(a.spec.Noop, e.Code)
	switch {
	case told(e) && errors.Is(cause, runner.ErrTimeout):
		r.Outcome, r.Error = ledger.Unknown, fmt.Sprintf("timeout after %s", limit)
	case e.Signal != "":
		r.Outcome = ledger.Unknown
	case told(e) && success, obeyed(e):
		r.Outcome = ledger.Unknown
		r.Error += " after it was told to end"
	case e.Code == 0:
		r.Outcome, r.Detail, r.Error = ledger.Succeeded, ledger.DetailApplied, ""
	case success:
		r.Outcome, r.Detail, r.Error = ledger.Succeeded, ledger.DetailNoop, ""
	case slices.Contains(a.spec.Permanent, e.Code):
		r.Outcome = ledger.FailedForGood
	case slices.Contains(a.spec.Later, e.Code):
		r.Outcome = ledger.AskedLater
	default:
		r.Outcome = ledger.FailedAttempt
	}
	return r
}

func told(e process.Exit) bool { return e.Termed || e.Killed }

// obeyed tells whether a shell says that our signal ended what it ran.
func obeyed(e process.Exit) bool {
	return e.Termed && e.Code == exitTermed || e.Killed && e.Code == exitKilled
}

// judgeStart says what it means that there is no process.
func (a *commandAction) judgeStart(err error) runner.Result {
	switch process.Classify(err) {
	case process.TooLong:
		return runner.Result{Outcome: ledger.FailedForGood, Error: "argument list too long"}
	case process.Invalid:
		return runner.Result{Outcome: ledger.FailedForGood, Error: "an argument or a field holds a NUL byte"}
	case process.Vanished:
		return runner.Result{Outcome: ledger.NotStarted, Halt: true, Error: a.vanished(err)}
	}
	return runner.Result{Outcome: ledger.NotStarted, Error: fmt.Sprintf("%s can't be started now: %v", a.argv[0], err)}
}

// vanished finds out what is missing since Prepare.
func (a *commandAction) vanished(err error) string {
	if why := checkDir(a.spec.Dir); why != nil {
		return why.Error()
	}
	if why := checkProgram(a.program); why != nil {
		return fmt.Sprintf("%s can't be started any more: %v", a.argv[0], why)
	}
	if errors.Is(err, syscall.ENOEXEC) {
		return fmt.Sprintf("%s can't be started: it is no program for this machine, or a script without a #! line", a.program)
	}
	return fmt.Sprintf("%s can't be started: %v", a.program, err)
}

func checkDir(dir string) error {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the folder %s, where the command runs, does not exist", dir)
	case err != nil:
		return fmt.Errorf("the folder where the command runs: %w", err)
	case !st.IsDir():
		return fmt.Errorf("%s, where the command runs, is no folder", dir)
	}
	return nil
}
