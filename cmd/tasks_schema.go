package cmd

import (
	"bytes"

	"github.com/spf13/cobra"

	"runner/tasks"
)

func newTasksSchemaCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of runner.yaml, for editors",
		Long: `Print the JSON Schema of runner.yaml, for editors that complete and check it.
It is JSON whatever -o says. In runner.yaml, a first line of
  # yaml-language-server: $schema=runner.schema.json
points many editors to it.

EXIT STATUS
  0 printed, 2 usage is wrong.`,
		Example: `  runner tasks schema > runner.schema.json
  runner tasks schema | jq .properties.tasks`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return runTasksSchema(a) },
	}
}

func runTasksSchema(a *app) error {
	text, err := tasks.Schema()
	if err != nil {
		return err
	}
	_, err = a.p.out.Write(append(bytes.TrimRight(text, "\n"), '\n'))
	return quietly(err)
}
