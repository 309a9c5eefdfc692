package cmd

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"
)

// usage is what --help prints below a command's description.
func usage(c *cobra.Command) error {
	var b bytes.Buffer
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "Usage:\n  %s COMMAND [flags]\n\nCommands:\n", c.CommandPath())
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-12s %s\n", sub.Name(), sub.Short)
			}
		}
	} else {
		fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	}
	c.LocalFlags().SortFlags, c.InheritedFlags().SortFlags = false, false
	if c.HasAvailableLocalFlags() && c.HasParent() {
		fmt.Fprintf(&b, "\nFlags:\n%s", c.LocalFlags().FlagUsages())
	}
	shared := c.InheritedFlags()
	if !c.HasParent() {
		shared = c.LocalFlags()
	}
	if shared.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nShared flags:\n%s", shared.FlagUsages())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	_, err := c.OutOrStdout().Write(b.Bytes())
	return err
}

func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND…]",
		Short: "Show what a command does",
		Long: `Show what a command does.

EXIT STATUS
  0 printed, 2 there is no such command.`,
		Example: `  runner help ledger ls
  runner help init`,
		RunE: func(c *cobra.Command, args []string) error {
			target := c.Root()
			for _, name := range args {
				sub := subcommand(target, name)
				if sub == nil {
					return unknownCommand(target, name)
				}
				target = sub
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}

func subcommand(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}
