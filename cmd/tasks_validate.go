package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"runner/tasks"
)

func newTasksValidateCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check runner.yaml and name everything that is wrong",
		Long: `Check runner.yaml and name everything that is wrong, with file, line and column.
With -o json (jsonl, csv, markdown) the problems are listed on stdout as well.

EXIT STATUS
  0 valid, 2 something is wrong or there is no configuration.`,
		Example: `  runner tasks validate
  runner tasks validate --config jobs/runner.yaml -o json`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return runValidate(a) },
	}
}

type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

func runValidate(a *app) error {
	path, err := a.configPath()
	if err != nil {
		return err
	}
	c, err := a.loadConfig()
	var wrong *tasks.ConfigError
	if err != nil && !errors.As(err, &wrong) {
		return err
	}
	if a.p.form != formTable {
		if perr := list(a.p, problemColumns, all(problems(wrong))); perr != nil {
			return perr
		}
	}
	if err != nil {
		return err
	}
	for _, t := range c.Tasks {
		if err := checkTask(a, t); err != nil {
			return err
		}
	}
	if a.p.form == formTable && (a.p.out.tty || a.flags.verbose) {
		return a.p.say("%s: %s, all valid", path, plural(int64(len(c.Tasks)), "task"))
	}
	return nil
}

// checkTask builds a task as a run would, and warns of what is allowed and
// seldom meant.
func checkTask(a *app, t *tasks.Task) error {
	built, err := t.Build(0)
	if err != nil {
		return asUsage(err)
	}
	if built.Policy.Timeout == 0 {
		a.p.warn(fmt.Sprintf("task %s has no timeout: an attempt that hangs holds its record for ever", t.Name), "set timeout:, for example 1h")
	}
	return nil
}

func problems(e *tasks.ConfigError) (rows []problemJSON) {
	if e == nil {
		return nil
	}
	for _, p := range e.Problems {
		rows = append(rows, problemJSON{File: p.File, Line: p.Line, Column: p.Column, Message: p.Msg, Hint: p.Hint})
	}
	return rows
}

var problemColumns = []column[problemJSON]{
	{name: "PLACE", cell: func(p problemJSON) string { return at(p.File, p.Line, p.Column) }},
	{name: "PROBLEM", cell: func(p problemJSON) string { return p.Message }, wide: true},
	{name: "HINT", cell: func(p problemJSON) string { return p.Hint }, wide: true},
}
