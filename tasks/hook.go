package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"runner/tasks/internal/output"
	"runner/tasks/internal/process"
)

// The variables that a hook gets beside RUNNER_TASK_NAME and
// RUNNER_EXECUTE_DATE.
const (
	hookVariable     = "RUNNER_HOOK"
	exitCodeVariable = "RUNNER_EXIT_CODE"
)

// hookTimeout is how long a hook may take unless the task says otherwise.
const hookTimeout = time.Minute

// Hook is a command that is told how a run went. What becomes of it changes
// nothing.
type Hook struct {
	Name    string // its key: on_failure or on_success
	argv    []string
	dir     string
	env     []variablePair
	timeout time.Duration
	mask    *output.Masker
}

// hooks are those of a task.
type hooks struct {
	success, failure []string
	timeout          time.Duration
}

// Hook gives the one for a run that went well, or didn't; nil if there is none.
func (t *Task) Hook(well bool) *Hook {
	h := &Hook{Name: "on_failure", argv: t.hooks.failure, dir: t.dir, env: t.plan.env, timeout: t.hooks.timeout, mask: t.plan.masker()}
	if well {
		h.Name, h.argv = "on_success", t.hooks.success
	}
	if len(h.argv) == 0 {
		return nil
	}
	return h
}

// Find says why its program can't be started.
func (h *Hook) Find() error {
	_, err := h.find(baseEnviron(h.dir, h.env))
	return err
}

func (h *Hook) find(environ []string) (string, error) {
	return lookup{base: h.dir, beside: true, environ: environ}.find(h.argv[0])
}

// HookCall is what a hook gets to know.
type HookCall struct {
	Task, Date string // the date, or the first and the last as A..B
	ExitCode   int
	Summary    []byte // JSON, for its stdin
}

// Run runs it to its end, or that of ctx or its timeout. The error says how it
// went wrong.
func (h *Hook) Run(ctx context.Context, call HookCall) error {
	own := []variablePair{
		{"RUNNER_TASK_NAME", call.Task}, {"RUNNER_EXECUTE_DATE", call.Date},
		{hookVariable, h.Name}, {exitCodeVariable, fmt.Sprint(call.ExitCode)},
	}
	set := slices.DeleteFunc(slices.Clone(h.env), func(v variablePair) bool {
		return slices.ContainsFunc(own, func(o variablePair) bool { return sameVariable(o.name, v.name) })
	})
	environ := baseEnviron(h.dir, append(set, own...))
	program, err := h.find(environ)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, fmt.Errorf("it was ended after %s, its hook_timeout", durationText(h.timeout)))
	defer cancel()
	return h.run(ctx, process.Spec{Path: program, Argv: h.argv, Env: environ, Dir: h.dir}, call.Summary)
}

func (h *Hook) run(ctx context.Context, s process.Spec, stdin []byte) error {
	process.HideFiles()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.Stdin = r
	p, err := process.Start(&s)
	r.Close() // the process has its own
	if err != nil {
		w.Close()
		return err
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = w.Write(stdin) // it need not read
		w.Close()
	}()
	rec := output.NewRecorder()
	rec.Reset(h.mask, true)
	handling := process.Handling{KillAfter: hookKillAfter, Buffer: make([]byte, 32<<10),
		Read: func(stream int, b []byte) { rec.Write(output.Channel(stream), b) }}
	exit := p.Wait(ctx, handling)
	rec.Finish()
	w.Close() // whoever still holds the other end reads no more
	<-written
	err = h.judge(ctx, exit)
	if err == nil {
		p.Release()
		return nil
	}
	p.EndGroup(handling)
	if last := strings.TrimSpace(rec.LastKept()); last != "" {
		err = fmt.Errorf("%w: %s", err, output.Valid(h.mask.String(last)))
	}
	return err
}

// hookKillAfter is how long after TERM a hook gets KILL.
const hookKillAfter = 5 * time.Second

func (h *Hook) judge(ctx context.Context, exit process.Exit) error {
	switch {
	case ctx.Err() != nil && (exit.Termed || exit.Killed):
		return context.Cause(ctx)
	case exit.Signal != "":
		return errors.New("it was killed by " + exit.Signal)
	case exit.Code != 0:
		return fmt.Errorf("exit status %d", exit.Code)
	}
	return nil
}

// hooks takes the commands that are told how a run went.
func (c *checker) hooks(f *taskFile) hooks {
	h := hooks{success: f.OnSuccess, failure: f.OnFailure, timeout: hookTimeout}
	for _, k := range []struct {
		key  string
		argv *[]string
	}{{"on_failure", &f.OnFailure}, {"on_success", &f.OnSuccess}} {
		if !c.doc.Has(k.argv) {
			continue
		}
		if len(*k.argv) == 0 {
			c.doc.Report(fmt.Sprintf("%q is an empty list", k.key), "", k.argv)
			continue
		}
		if (*k.argv)[0] == "" {
			c.doc.Report("the name of the program is empty", "", &(*k.argv)[0])
		}
		for i := range *k.argv {
			if item := &(*k.argv)[i]; strings.Contains(*item, "{{") {
				c.doc.Report(fmt.Sprintf("%q can't hold a template", k.key), "it is about a run, not a record: it gets the summary as JSON on stdin", item)
			}
		}
	}
	if c.doc.Has(&f.HookTimeout) {
		if h.timeout = time.Duration(f.HookTimeout); h.timeout == 0 {
			c.doc.Report(`"hook_timeout" can't be 0`, "a hook that hangs would hold up the end of the run", &f.HookTimeout)
		}
	}
	return h
}
