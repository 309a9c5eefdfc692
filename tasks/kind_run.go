package tasks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// runKind runs a program, without a shell.
var runKind = kind{
	name:   "run",
	value:  func(f *taskFile) any { return &f.Run },
	check:  checkRun,
	stored: storedCommand,
	probe: &probeKind{
		value: func(f *probeFile) any { return &f.Run },
		check: func(c *checker, t *taskFile, key string, f *probeFile) prober { return c.probeCommand(t, key, &f.Run) },
	},
}

func checkRun(c *checker, f *taskFile) spec {
	s := c.command(f)
	s.Argv, s.Beside = f.Run, true
	c.argv("run", &f.Run)
	return s
}

// argv checks a program and its arguments, which may be templates.
func (c *checker) argv(key string, argv *[]string) {
	if len(*argv) == 0 {
		c.doc.Report(fmt.Sprintf("%q is an empty list", key), "", argv)
		return
	}
	c.program(&(*argv)[0])
	for i := range (*argv)[1:] {
		item := &(*argv)[1+i]
		if _, err := parseTemplate(*item); err != nil {
			c.doc.Report(err.Error(), "", item)
		}
	}
}

func (c *checker) program(p *string) {
	switch {
	case *p == "":
		c.doc.Report("the name of the program is empty", "", p)
	case strings.Contains(*p, "{{"):
		c.doc.Report(fmt.Sprintf("the program can't be a template: %q", *p), "it is looked up once, before anything runs", p)
	}
}

func storedCommand(text json.RawMessage) (spec, error) { return storedCommandSpec(text) }

func storedCommandSpec(text json.RawMessage) (*commandSpec, error) {
	s := &commandSpec{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	if len(s.Argv) == 0 && s.Script == "" {
		return nil, fmt.Errorf("it has no command")
	}
	return s, nil
}

// command takes what run and shell have in common.
func (c *checker) command(f *taskFile) *commandSpec {
	s := &commandSpec{
		Base: c.dir, Dir: c.dir, Stdin: string(f.Stdin), KeepOutput: string(f.KeepOutput),
		Noop: f.ExitCodes.Noop, Permanent: f.ExitCodes.Permanent, Later: c.later(&f.ExitCodes),
	}
	if c.doc.Has(&f.Dir) {
		s.Dir = absolute(c.dir, f.Dir)
		switch {
		case f.Dir == "":
			c.doc.Report(`"dir" is empty`, "", &f.Dir)
		case strings.Contains(f.Dir, "{{"):
			c.doc.Report(`"dir" can't hold a template`, "it is the same for all records", &f.Dir)
		}
	}
	c.exitCodes(&f.ExitCodes)
	return s
}

// later gives the codes that ask for later: where the task says nothing of
// it, the usual one, unless that means something else here.
func (c *checker) later(f *exitCodesFile) []int {
	if c.doc.Has(&f.Later) {
		return f.Later
	}
	if slices.Contains(f.Noop, exitLater) || slices.Contains(f.Permanent, exitLater) {
		return nil
	}
	return []int{exitLater}
}

func (c *checker) exitCodes(f *exitCodesFile) {
	said := map[int]bool{}
	for _, list := range [][]int{f.Noop, f.Permanent, f.Later} {
		for i := range list {
			code := &list[i]
			switch {
			case *code < 1 || *code > 255:
				c.doc.Report(fmt.Sprintf("exit code %d can't be chosen: 0 is success, the others are 1 to 255", *code), "", code)
			case said[*code]:
				c.doc.Report(fmt.Sprintf("exit code %d is listed twice", *code), "", code)
			}
			said[*code] = true
		}
	}
}
