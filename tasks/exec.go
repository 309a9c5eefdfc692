package tasks

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"runner/ledger"
	"runner/runner"
)

// Exec is a task that is given on the command line.
type Exec struct {
	Name       string
	Command    []string // in each item {} is the biz_id; without any it is added at the end
	Shell      bool     // Command is one script for sh, which has the biz_id as "$1"
	Dir        string   // empty: the working directory
	Idempotent bool
	Secrets    []string       // names of environment variables
	Timeout    *time.Duration // nil: the default; 0: none
	Retries    *int           // after the first attempt; nil: the default
	Namespace  string
	TimeZone   string         // name of Location, as far as it is known
	Location   *time.Location // nil: the system's
	AllowEmpty bool
}

// Build makes the task ready to run. With jobs 0 there are as many as CPUs.
func (e Exec) Build(jobs int) (runner.Task, error) {
	p := plan{name: e.Name, namespace: e.Namespace, timeZone: e.zone(), allowEmpty: e.AllowEmpty, secrets: e.Secrets, kind: runKind.name}
	if e.Shell {
		p.kind = shellKind.name
	}
	err := ledger.CheckTaskName(e.Name)
	for _, name := range e.Secrets {
		if err == nil && !validEnvName(name) {
			err = fmt.Errorf("%q can't name an environment variable", name)
		}
	}
	if err == nil {
		p.policy, err = e.policy()
	}
	if err == nil {
		p.spec, err = e.command()
	}
	if err != nil {
		return runner.Task{}, err
	}
	return p.build(jobs)
}

func (e Exec) zone() string {
	switch {
	case e.TimeZone != "":
		return e.TimeZone
	case e.Location != nil:
		return ZoneName(e.Location)
	}
	return ZoneName(time.Local)
}

func (e Exec) policy() (ledger.Policy, error) {
	p := ledger.DefaultPolicy()
	p.Idempotent = e.Idempotent
	if e.Timeout != nil {
		p.Timeout = *e.Timeout
	}
	if e.Retries != nil {
		p.Attempts = *e.Retries + 1
	}
	switch {
	case p.Timeout < 0:
		return p, fmt.Errorf("the timeout is negative: %s", p.Timeout)
	case p.Attempts < 1:
		return p, fmt.Errorf("the number of retries is negative: %d", *e.Retries)
	}
	return p, nil
}

func (e Exec) command() (spec, error) {
	dir, err := filepath.Abs(e.Dir) // of an empty one: the working directory
	if err != nil {
		return nil, fmt.Errorf("folder of the command: %w", err)
	}
	s := &commandSpec{Base: dir, Dir: dir, Later: []int{exitLater}}
	if len(e.Command) == 0 || strings.TrimSpace(e.Command[0]) == "" {
		return nil, &HintError{Msg: "no command is given", Hint: "runner exec NAME -- COMMAND…"}
	}
	if !e.Shell {
		if strings.Contains(e.Command[0], braces) {
			return nil, &HintError{Msg: fmt.Sprintf("the program itself can't be {}: %q", e.Command[0]), Hint: "it is looked up once, before anything runs"}
		}
		s.Argv, s.Braces = e.Command, true
		return s, nil
	}
	switch {
	case len(e.Command) > 1:
		return nil, &HintError{Msg: fmt.Sprintf("a shell script is one argument, not %d", len(e.Command)), Hint: "put quotes around the script"}
	case strings.Contains(e.Command[0], braces):
		return nil, &HintError{Msg: "a shell script can't hold {}", Hint: `use "$1" or "$RUNNER_BIZ_ID", with the quotes`}
	}
	s.Script = e.Command[0]
	return s, nil
}
