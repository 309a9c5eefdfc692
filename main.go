// Command runner runs batch jobs so that each record of a business date is
// done once, whatever is killed, restarted or run twice.
package main

import (
	"os"

	"runner/cmd"
)

func main() { os.Exit(cmd.Main()) }
