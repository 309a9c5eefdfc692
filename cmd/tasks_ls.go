package cmd

import (
	"errors"

	"github.com/spf13/cobra"

	"runner/tasks"
)

func newTasksLsCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the tasks of runner.yaml",
		Long: `List the tasks of runner.yaml, in its order. Without a runner.yaml the list is
empty.

EXIT STATUS
  0 printed, 2 usage or the configuration is wrong.`,
		Example: `  runner tasks ls
  runner tasks ls --config jobs/runner.yaml -o json`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return runTasksLs(a) },
	}
}

func runTasksLs(a *app) error {
	c, err := a.loadConfig()
	if errors.Is(err, errNoConfig) {
		a.p.note("there is no %s here or in a parent folder", configName)
		return list(a.p, taskColumns, all[tasks.Info](nil))
	}
	if err != nil {
		return err
	}
	rows := make([]tasks.Info, len(c.Tasks))
	for i, t := range c.Tasks {
		rows[i] = t.Info()
	}
	return list(a.p, taskColumns, all(rows))
}

var taskColumns = []column[tasks.Info]{
	{name: "TASK", cell: func(t tasks.Info) string { return t.Name }},
	{name: "KIND", cell: func(t tasks.Info) string { return t.Kind }},
	{name: "RECORDS", cell: func(t tasks.Info) string { return t.Source }, wide: true},
	{name: "ACTION", cell: func(t tasks.Info) string { return oneLine(t.Action) }, wide: true},
	{name: "DESCRIPTION", cell: func(t tasks.Info) string { return t.Description }, wide: true},
}
