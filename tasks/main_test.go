package tasks

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helpers are what this test binary does when it is run as a command.
var helpers = map[string]func(args []string) int{}

const helperVariable = "TASKS_TEST_HELPER"

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVariable); name != "" {
		help, ok := helpers[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no helper", name)
			os.Exit(99)
		}
		os.Exit(help(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
