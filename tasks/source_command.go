package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"runner/runner"
	"runner/tasks/internal/output"
	"runner/tasks/internal/process"
)

// commandSourceKind has the records in what a command prints.
var commandSourceKind = sourceKind{
	name:   "command",
	value:  func(f *recordsFile) any { return &f.Command },
	format: commandFormat,
	check:  checkCommandSource,
	words: func(f *recordsFile) string {
		return fmt.Sprintf("%s of command %s", commandFormat(f), strings.Join(f.Command, " "))
	},
	open: openCommandSource,
}

func checkCommandSource(c *checker, f *recordsFile) {
	if len(f.Command) == 0 {
		c.doc.Report(`"command" is an empty list`, "", &f.Command)
		return
	}
	c.program(&f.Command[0])
	for i := range f.Command[1:] {
		item := &f.Command[1+i]
		if _, err := renderPath(*item, "2006-01-02"); err != nil {
			c.doc.Report(err.Error(), "an argument of it may hold {{.execute_date}}", item)
		}
	}
}

// leftOpenAfter is how long others may hold the outputs of a command open
// after its end.
const leftOpenAfter = 5 * time.Second

// sourceCommand is a program whose stdout is an input. It runs in the process
// group of runner, so that a terminal interrupts both.
type sourceCommand struct {
	program string // absolute
	argv    []string
	dir     string
	environ []string
	mask    *output.Masker
	wait    time.Duration
}

func openCommandSource(t *Task, q request) (runner.Source, error) {
	environ := baseEnviron(t.dir, t.plan.env)
	s := &sourceCommand{dir: t.dir, environ: environ, mask: t.plan.masker(), wait: leftOpenAfter}
	for _, item := range t.records.Command {
		arg, err := renderPath(item, q.date)
		if err != nil {
			return nil, err
		}
		s.argv = append(s.argv, arg)
	}
	var err error
	if s.program, err = (lookup{base: t.dir, beside: true, environ: environ}).find(s.argv[0]); err != nil {
		return nil, err
	}
	o := SourceOptions{Format: commandFormat(&t.records), BizID: t.records.BizID, Fields: q.fields}
	if err := o.check(); err != nil {
		return nil, err
	}
	return o.text(s.input()), nil
}

// input runs the command at the first read, once. Closing it ends a command
// that still runs.
func (s *sourceCommand) input() *input {
	ctx, cancel := context.WithCancel(context.Background())
	in := newInput("output of " + s.argv[0])
	in.produce = func(w io.Writer) error {
		if err := s.run(ctx, w); err != nil {
			return in.fail(0, err.Error(), "")
		}
		return nil
	}
	in.close = func() error { cancel(); return nil }
	return in
}

// run gives the reason why the output can't be trusted, if there is one.
func (s *sourceCommand) run(ctx context.Context, w io.Writer) error {
	process.HideFiles()
	stderr := output.NewRecorder()
	stderr.Reset(s.mask, false)
	c := exec.CommandContext(ctx, s.program)
	c.Args, c.Env, c.Dir, c.Stdout, c.WaitDelay = s.argv, s.environ, s.dir, w, s.wait
	c.Stderr = writerFunc(func(p []byte) { stderr.Write(output.Stderr, p) })
	c.Cancel = func() error {
		if c.Process.Signal(syscall.SIGTERM) == nil {
			return nil
		}
		return c.Process.Kill() // there are no signals
	}
	err := c.Run()
	stderr.Finish()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil:
		err = errors.New("it ended, but left a process behind that holds its output open")
	case !errors.As(err, &exit):
		return fmt.Errorf("it can't be run: %w", err)
	}
	msg := strings.Replace(err.Error(), "signal: ", "killed by signal: ", 1)
	if last := stderr.LastLines(); last != "" {
		msg += ": " + last
	}
	return errors.New(output.Valid(msg))
}

// writerFunc is a writer that takes everything.
type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
