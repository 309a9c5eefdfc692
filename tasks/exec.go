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
	Check      string         // a command like Command, in one text; empty: none
	Compensate string         // the same
	CheckAfter *time.Duration // nil: the default
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
	if err == nil {
		err = e.doubts(&p)
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

func (e Exec) command() (*commandSpec, error) {
	switch {
	case len(e.Command) == 0 || strings.TrimSpace(e.Command[0]) == "":
		return nil, &HintError{Msg: "no command is given", Hint: "runner exec NAME -- COMMAND…"}
	case e.Shell && len(e.Command) > 1:
		return nil, &HintError{Msg: fmt.Sprintf("a shell script is one argument, not %d", len(e.Command)), Hint: "put quotes around the script"}
	}
	s, err := e.spec(e.Command)
	if err == nil {
		s.Later = []int{exitLater}
	}
	return s, err
}

// spec is that of a program with its arguments, or of a script.
func (e Exec) spec(words []string) (*commandSpec, error) {
	dir, err := filepath.Abs(e.Dir) // of an empty one: the working directory
	if err != nil {
		return nil, fmt.Errorf("folder of the command: %w", err)
	}
	s := &commandSpec{Base: dir, Dir: dir}
	switch hasBraces := strings.Contains(words[0], braces); {
	case e.Shell && hasBraces:
		return nil, &HintError{Msg: "a shell script can't hold {}", Hint: `use "$1" or "$RUNNER_BIZ_ID", with the quotes`}
	case e.Shell:
		s.Script = words[0]
	case hasBraces:
		return nil, &HintError{Msg: fmt.Sprintf("the program itself can't be {}: %q", words[0]), Hint: "it is looked up once, before anything runs"}
	default:
		s.Argv, s.Braces = words, true
	}
	return s, nil
}

// doubts takes what is said of records in doubt. p is all but ready.
func (e Exec) doubts(p *plan) (err error) {
	switch {
	case e.Check == "" && e.Compensate != "":
		return &HintError{Msg: "a compensation needs a check", Hint: needsHints["compensate"]}
	case e.Check == "" && e.CheckAfter != nil:
		return fmt.Errorf("there is no check for which to wait %s", *e.CheckAfter)
	case e.Check == "":
		return nil
	case e.CheckAfter != nil && *e.CheckAfter < 0:
		return fmt.Errorf("the time after which a check is believed is negative: %s", *e.CheckAfter)
	}
	p.policy.Check = true
	if p.doubts.check, err = e.probe(e.Check); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if e.Compensate != "" {
		p.policy.Compensate = true
		if p.doubts.compensate, err = e.probe(e.Compensate); err != nil {
			return fmt.Errorf("compensation: %w", err)
		}
	}
	if e.CheckAfter != nil {
		p.doubts.checkAfter, p.policy.CheckAfter = true, *e.CheckAfter
	}
	if !p.believe() {
		return &HintError{
			Msg:  "without a timeout a check needs to know how long after an attempt its effect may still appear",
			Hint: "give --check-after, or a --timeout",
		}
	}
	return nil
}

// probe is a check or a compensation: a command in one text, or a script.
func (e Exec) probe(text string) (*probe, error) {
	list := []string{text}
	if !e.Shell {
		var err error
		if list, err = splitWords(text); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 || strings.TrimSpace(list[0]) == "" {
		return nil, fmt.Errorf("no command is given: %q", text)
	}
	s, err := e.spec(list)
	if err != nil {
		return nil, err
	}
	return &probe{runKind.name, s}, nil
}
