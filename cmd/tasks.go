package cmd

import "github.com/spf13/cobra"

func newTasksCmd(a *app) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "tasks",
		Short: "Look at the definitions of tasks",
		Long: `Look at the definitions of tasks.

EXIT STATUS
  0 printed or valid, 2 usage or the configuration is wrong.`,
		Example: `  runner tasks ls
  runner tasks validate --config jobs/runner.yaml -o json`,
	}, newTasksLsCmd(a), newTasksShowCmd(a), newTasksValidateCmd(a), newTasksSchemaCmd(a))
}
