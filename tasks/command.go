package tasks

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"text/template"
	"time"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/output"
	"runner/tasks/internal/process"
)

const braces = "{}"

// The values of keep_output and stdin.
const (
	keepFailed = "failed" // the default
	keepAll    = "all"
	keepNone   = "none"
	stdinJSON  = "json"
)

// commandSpec is a program with its arguments, or a script for sh.
type commandSpec struct {
	Argv       []string `json:"argv,omitempty"`
	Braces     bool     `json:"braces,omitempty"` // {} is the biz_id; if not, items are templates
	Script     string   `json:"script,omitempty"`
	Base       string   `json:"base"`             // where a relative program is looked up
	Beside     bool     `json:"beside,omitempty"` // a bare name is looked up there too, before PATH
	Dir        string   `json:"dir"`              // where it runs
	Stdin      string   `json:"stdin,omitempty"`
	Noop       []int    `json:"noop,omitempty"`
	Permanent  []int    `json:"permanent,omitempty"`
	Later      []int    `json:"later,omitempty"`
	KeepOutput string   `json:"keep_output,omitempty"`
}

func (s *commandSpec) masked(m *output.Masker) (any, bool) {
	c := *s
	c.Script = m.String(s.Script)
	incomplete := c.Script != s.Script
	c.Argv = nil
	for _, item := range s.Argv {
		c.Argv = append(c.Argv, m.String(item))
		incomplete = incomplete || c.Argv[len(c.Argv)-1] != item
	}
	return c, incomplete
}

func (s *commandSpec) action(sur surroundings) runner.Action {
	return s.inPhase(ledger.Act, sur)
}

// commandAction runs one process for each attempt. What is the same for all
// attempts is made once, by Prepare.
type commandAction struct {
	spec commandSpec
	surroundings
	killAfter time.Duration
	phase     ledger.Phase

	once    sync.Once
	err     error
	program string   // absolute
	argv    []string // of which the first stays as it is
	items   []*template.Template
	environ []string
	null    *os.File
	scratch scratch
}

// Prepare looks up the program and its folder.
func (a *commandAction) Prepare() error {
	a.once.Do(func() { a.err = a.prepare() })
	return a.err
}

func (a *commandAction) prepare() (err error) {
	a.environ = baseEnviron(a.spec.Dir, a.env)
	l := lookup{base: a.spec.Base, beside: a.spec.Beside, environ: a.environ}
	a.argv = a.spec.Argv
	if a.spec.Script != "" {
		a.argv = []string{"sh", "-c", a.spec.Script, "sh"}
		l.beside = false
	}
	if a.program, err = l.find(a.argv[0]); err != nil {
		return err
	}
	if err = checkDir(a.spec.Dir); err != nil {
		return err
	}
	a.items = make([]*template.Template, len(a.argv))
	if a.spec.Script == "" && !a.spec.Braces {
		for i := range a.argv {
			if a.items[i], err = parseTemplate(a.argv[i]); err != nil {
				return err
			}
		}
	}
	process.HideFiles()
	a.null, err = os.Open(os.DevNull)
	return err
}

// Close removes what the action needed for its attempts.
func (a *commandAction) Close() error {
	if a.null != nil {
		a.null.Close()
	}
	return a.scratch.remove()
}

// workspace is what one attempt needs. Workspaces are used again.
type workspace struct {
	argv, environ []string
	recorder      *output.Recorder
	buffer        []byte
	read          func(stream int, p []byte)
}

var workspaces = sync.Pool{New: func() any {
	w := &workspace{recorder: output.NewRecorder(), buffer: make([]byte, 32<<10)}
	w.read = func(stream int, p []byte) { w.recorder.Write(output.Channel(stream), p) }
	return w
}}

// Act runs the command for one record.
func (a *commandAction) Act(ctx context.Context, at runner.Attempt) runner.Result {
	if err := a.Prepare(); err != nil {
		return runner.Result{Outcome: ledger.NotStarted, Error: err.Error(), Halt: true}
	}
	if ctx.Err() != nil {
		return runner.Result{Outcome: ledger.NotStarted, Error: context.Cause(ctx).Error()}
	}
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	file, err := a.scratch.next()
	if err != nil {
		return runner.Result{Outcome: ledger.NotStarted, Error: "result file: " + err.Error()}
	}
	if err := a.fill(w, &at, file); err != nil {
		return a.clean(a.inPhase(runner.Result{Outcome: ledger.FailedForGood, Error: err.Error()}, false))
	}
	stdin, err := a.stdin(&at, file)
	if err != nil {
		return runner.Result{Outcome: ledger.NotStarted, Error: "stdin: " + err.Error()}
	}
	r := a.run(ctx, w, &at, stdin)
	if stdin != a.null {
		stdin.Close()
	}
	if r.Outcome != ledger.NotStarted {
		takeResult(file, &r)
	}
	return a.clean(r)
}

// run starts the process and waits for its end.
func (a *commandAction) run(ctx context.Context, w *workspace, at *runner.Attempt, stdin *os.File) runner.Result {
	p, err := process.Start(&process.Spec{Path: a.program, Argv: w.argv, Env: w.environ, Dir: a.spec.Dir, Stdin: stdin})
	if err != nil {
		return a.inPhase(a.judgeStart(err), false)
	}
	at.Started(p.Pid)
	w.recorder.Reset(a.mask, a.spec.KeepOutput != keepNone)
	h := process.Handling{Kill: at.Kill, KillAfter: a.killAfter, Read: w.read, Buffer: w.buffer}
	exit := p.Wait(ctx, h)
	w.recorder.Finish()
	r := a.judge(exit, context.Cause(ctx), at.Timeout)
	if r.Outcome == ledger.Succeeded {
		p.Release()
	} else {
		if last := w.recorder.LastLines(); last != "" {
			r.Error += ": " + last
		}
		if p.EndGroup(h) {
			r.Outcome = ledger.Unknown
			r.Error += fmt.Sprintf("\nprocesses of its group %d can't be ended", p.Pid)
		}
	}
	r = a.inPhase(r, told(exit))
	if !didItsJob(r.Outcome) || a.spec.KeepOutput == keepAll {
		r.Output = w.recorder.Text()
	}
	return r
}

// clean masks what the recorder hasn't, and makes all of it valid text.
func (a *commandAction) clean(r runner.Result) runner.Result {
	r.Error = output.Valid(a.mask.String(r.Error))
	r.Result = output.Cut(output.Valid(a.mask.String(r.Result)), runner.MaxResult)
	return r
}

// fill makes arguments and environment of an attempt.
func (a *commandAction) fill(w *workspace, at *runner.Attempt, file string) (err error) {
	w.argv = w.argv[:0]
	found := false
	for i, item := range a.argv {
		switch {
		case a.items[i] != nil:
			var b strings.Builder
			if err := a.items[i].Execute(&b, templateData(at)); err != nil {
				return renderError(item, err, at)
			}
			item = b.String()
		case a.spec.Braces && strings.Contains(item, braces):
			item, found = strings.ReplaceAll(item, braces, at.BizID), true
		}
		w.argv = append(w.argv, item)
	}
	if a.spec.Script != "" || a.spec.Braces && !found {
		w.argv = append(w.argv, at.BizID)
	}
	w.environ, err = appendRecord(append(w.environ[:0], a.environ...), at, a.phase, file)
	return err
}
