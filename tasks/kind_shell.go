package tasks

import "strings"

// shellKind runs a script with sh. The record comes by environment, and its
// biz_id as "$1"; nothing is ever spliced into the text.
var shellKind = kind{
	name:   "shell",
	value:  func(f *taskFile) any { return &f.Shell },
	check:  checkShell,
	stored: storedCommand,
}

const shellHint = `use "$RUNNER_BIZ_ID", "$RUNNER_EXECUTE_DATE" or "$RUNNER_FIELD_<NAME>", with the quotes`

func checkShell(c *checker, f *taskFile) spec {
	s := c.command(f)
	s.Script = f.Shell
	switch {
	case strings.TrimSpace(f.Shell) == "":
		c.doc.Report(`"shell" is empty`, "", &f.Shell)
	case strings.Contains(f.Shell, "{{"):
		c.doc.Report("a shell script can't hold a template", shellHint, &f.Shell)
	}
	return s
}
