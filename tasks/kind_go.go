package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/decode"
	"runner/tasks/internal/output"
)

// goKind calls a Go function of this program.
var goKind = kind{
	name:   "go",
	value:  func(f *taskFile) any { return &f.Go },
	check:  checkGo,
	stored: storedGo,
	// What it asked others to do goes on without it.
	lingers: true,
}

type goSpec struct {
	Function string `json:"function"`
}

func checkGo(c *checker, f *taskFile) spec {
	if _, err := functionOf(f.Go); err != nil {
		c.doc.Report(err.Error(), "", &f.Go)
	}
	c.commandsOnly(f, "a Go function", "keep_output")
	return goSpec{Function: f.Go}
}

// commandsOnly reports keys that mean nothing to what acts, which is no command.
func (c *checker) commandsOnly(f *taskFile, what string, more ...string) {
	for key, ptr := range map[string]any{
		"env": &f.Env, "dir": &f.Dir, "stdin": &f.Stdin, "exit_codes": &f.ExitCodes, "keep_output": &f.KeepOutput,
	} {
		if key == "keep_output" && !slices.Contains(more, key) {
			continue
		}
		forCheck := key != "exit_codes" && (c.doc.Has(&f.Check.Run) || c.doc.Has(&f.Compensate.Run)) // they are commands
		if c.doc.Has(ptr) && !forCheck {
			c.doc.Report(fmt.Sprintf("%q is for commands, not for %s", key, what), "", ptr)
		}
	}
}

func storedGo(text json.RawMessage) (spec, error) {
	var s goSpec
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	_, err := functionOf(s.Function)
	return s, err
}

func functionOf(name string) (runner.Function, error) {
	var names []string
	for _, f := range functions {
		if f.name == name {
			return f.call, nil
		}
		names = append(names, f.name)
	}
	err := fmt.Errorf("there is no Go function %q; there are %s", name, strings.Join(names, ", "))
	if near := decode.Nearest(name, names); near != "" {
		err = fmt.Errorf("there is no Go function %q, did you mean %q?", name, near)
	}
	return nil, err
}

func (s goSpec) masked(*output.Masker) (any, bool) { return s, false }

func (s goSpec) action(sur surroundings) runner.Action {
	return &goAction{name: s.Function, mask: sur.mask}
}

// goAction calls a Go function. What it says is masked like the output of a
// command.
type goAction struct {
	name string
	call runner.Function
	mask *output.Masker
}

func (a *goAction) Prepare() (err error) {
	a.call, err = functionOf(a.name)
	return err
}

func (a *goAction) Act(ctx context.Context, at runner.Attempt) (r runner.Result) {
	defer func() {
		if v := recover(); v != nil {
			r = runner.Result{Outcome: ledger.FailedAttempt, Error: fmt.Sprintf("panic: %v", v), Output: string(debug.Stack())}
		}
		r.Error = output.Valid(a.mask.String(r.Error))
		r.Output = output.Valid(a.mask.String(r.Output))
		r.Result = output.Cut(output.Valid(a.mask.String(r.Result)), runner.MaxResult)
	}()
	if a.call == nil {
		if err := a.Prepare(); err != nil {
			return runner.Result{Outcome: ledger.NotStarted, Error: err.Error(), Halt: true}
		}
	}
	r = a.call.Call(ctx, at.Record)
	if r.Outcome == ledger.AskedLater {
		r.RetryAfter = max(cmp.Or(r.RetryAfter, defaultLater), minLater)
	}
	return r
}
