// Package cmd is the program as people and scripts meet it: flags, wiring and
// words, one file a command. Every command file has the same four parts:
// constructor, options, flags, run.
//
// output.go alone prints and exit.go alone maps errors to exit codes; nothing
// here calls os.Exit. It imports tasks, runner, ledger and the stores, and
// nothing imports it but main.go.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
	_ "time/tzdata" // zones by name, also where the system has none

	"golang.org/x/term"
)

// env is all a command has of the world outside, so that tests can give it
// another one.
type env struct {
	args      []string // without the program's name
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	stdinTTY  bool
	stdoutTTY bool
	stderrTTY bool
	width     func() int // columns of the terminal; 0: unknown
	now       func() time.Time
	getenv    func(string) string
	local     *time.Location // the system's zone
}

// Main runs the program and gives its exit code.
func Main() int {
	if code, ok := actAsInit(); ok {
		return code
	}
	// A closed pipe is an error to look at, not a death in the middle of a
	// run. Ignoring the signal would do that too, but actions inherit it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return run(context.Background(), systemEnv())
}

func systemEnv() env {
	return env{
		args:      os.Args[1:],
		stdin:     os.Stdin,
		stdout:    os.Stdout,
		stderr:    os.Stderr,
		stdinTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		stdoutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		stderrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		width: func() int {
			w, _, err := term.GetSize(int(os.Stdout.Fd()))
			if err != nil {
				return 0
			}
			return w
		},
		now:    time.Now,
		getenv: os.Getenv,
		local:  time.Local,
	}
}

// run is Main in a given environment.
func run(ctx context.Context, e env) (code int) {
	a := newApp(e)
	defer func() {
		// A panic would end with 2, which promises that nothing was executed.
		if r := recover(); r != nil {
			a.p.fail(fmt.Errorf("internal error: %v", r))
			a.p.trace(debug.Stack())
			code = exitFailed
		}
	}()
	err := a.execute(ctx)
	if err != nil && !isReported(err) {
		a.p.fail(err)
	}
	code = codeOfError(err)
	if werr := a.p.out.failure(); werr != nil && !errors.Is(err, werr) {
		a.p.fail(werr)
		code = max(code, exitFailed)
	}
	return code
}
