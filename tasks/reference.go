package tasks

import (
	"fmt"
	"strings"
)

const referenceIntro = `<!-- Made from the Go types by tasks.Reference. UPDATE=1 go test ./tasks makes it anew. -->

# Configuration

` + "`runner.yaml` says what is to be done. `runner init` writes one to begin with, `runner tasks validate` checks one, and `runner tasks schema` prints a JSON Schema for editors." + `

A duration is written as 30s, 5m or 1h30m, a rate as 50/s, 100/m or 1000/h. Text may be left without quotes where YAML allows it; it is taken as it stands, so 0010 stays 0010.
`

const referenceCommands = `
## What a command gets

A command gets its record by arguments and by its environment, in which the variables of runner itself and those under ` + "`env`" + ` are too; and on stdin with ` + "`stdin: json`" + `. That is the same for an action, a check and a compensation.

| variable | meaning |
| --- | --- |
| ` + "`RUNNER_TASK_NAME`, `RUNNER_BIZ_ID`, `RUNNER_EXECUTE_DATE`" + ` | What is to be done for which record and which business date: the key of the record. |
| ` + "`RUNNER_PHASE`" + ` | What the command is started for: act, check or compensate. |
| ` + "`RUNNER_IDEMPOTENCY_KEY`" + ` | The same for all attempts of a record. It changes only when an operator has a record done again that was done. |
| ` + "`RUNNER_GENERATION`" + ` | 1; grows when a record that was done is done again. |
| ` + "`RUNNER_ATTEMPT`" + ` | The number of the attempt, from 1; of a check and a compensation that of the attempt they are about, 0 if there was none. |
| ` + "`RUNNER_ATTEMPT_ID`, `RUNNER_FENCE`, `RUNNER_RUN_ID`" + ` | Of this very start: its name, a number that grows with each start of the record, and the run. |
| ` + "`RUNNER_FIELD_NAME`" + ` | The field NAME of the record, in capitals; all but A-Z and 0-9 becomes _. |
| ` + "`RUNNER_RESULT`" + ` | The file to which it may write result=TEXT (4 KiB) and retry_after=30s. |

Two fields with names in ASCII that would be the same variable, such as user-id and user_id, are an error of the input. Letters of other scripts all become _, so fields such as 姓名 and 电话 would be the same variable too. That is no error, but none of the fields that would be the same is a variable then; templates (` + "`{{index .fields \"姓名\"}}` and `{{.fields.姓名}}`" + `) and ` + "`stdin: json`" + ` have them all.

## Check and compensate

An attempt whose outcome is unknown (a timeout, a signal, a machine that died) may have taken effect or not. The check is asked then:

| exit of the check | meaning | what happens |
| --- | --- | --- |
| 0 | the effect is there | the record is done |
| 1 | it isn't there, and will not appear | it is tried again if attempts are left, else it has failed; before ` + "`check_after`" + ` the check is asked again |
| 2 | half of it is there | the compensation undoes it, once for each attempt, and the check is asked again; without one the record stays in doubt |
| another, a signal, ` + "`check_timeout`" + ` | it can't tell | with ` + "`idempotent: true`" + ` the action is repeated, else the record stays in doubt for a person |

A compensation is well with exit 0. If it fails, or isn't ended in ` + "`compensate_timeout`" + `, the record stays in doubt. A program that isn't found is an error before anything runs, for a check as for an action. Beware of programs that exit with 1 or 2 for reasons of their own, for a check must tell the truth: a Python script that crashes exits with 1, and ` + "`grep` and `test`" + ` with 2 where they fail. A check that can fail like that says so with a code from 3 to 125: ` + "`grep -qx \"$1\" paid.txt; c=$?; [ $c -le 1 ] || c=3; exit $c`" + `.
`

const referenceHooks = `
## Hooks

After a run whose exit code is not 0 ` + "`on_failure`" + ` is run, after one that leaves all its dates complete ` + "`on_success`" + `; once for each start of runner and each task in it, so a range of dates is one run. It runs in the folder of the file, with the variables of runner itself and those under ` + "`env`" + `, and reads on stdin what ` + "`-o json`" + ` prints of the run: an object for one date, an array for several. The last lines that it prints, 500 bytes at most, are shown only if it fails. That it fails, hangs or isn't found is said on stderr and changes neither an outcome nor the exit code. There is none for a dry run, for ` + "`runner exec`" + `, and for what is wrong before the task is known (a flag, this file); none for an exit code of 0 with records left (` + "`--limit`, `overlap: skip`" + `). A date is complete as it is for ` + "`runner gaps` and `needs`" + `: whatever was planned for it is done or skipped, also what the input doesn't hold. So a run or rerun of a part has its ` + "`on_success`" + ` only if it was the last part that was missing.

| variable | meaning |
| --- | --- |
| ` + "`RUNNER_HOOK`" + ` | on_failure or on_success. |
| ` + "`RUNNER_EXIT_CODE`" + ` | That of the run: 1 failed, 2 wrong input, 3 in doubt, 4 halted, 5 busy or waiting, 6 blocked, 7 the ledger, more than 128 interrupted. |
| ` + "`RUNNER_TASK_NAME`, `RUNNER_EXECUTE_DATE`" + ` | The task and the date; for several dates the first and the last, as A..B. |
`

// Reference gives the documentation of runner.yaml, as Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceIntro)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		if s.intro != "" {
			fmt.Fprintf(&b, "%s\n\n", s.intro)
		}
		b.WriteString("| key | type | default | meaning |\n| --- | --- | --- | --- |\n")
		for _, k := range keysOf(s.value) {
			standard := k.standard
			if k.required() {
				standard = "(required)"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.name, cell(k.typeWords()), cell(standard), cell(k.meaning))
		}
	}
	b.WriteString(referenceCommands + referenceSQL + referenceHooks)
	fmt.Fprintf(&b, "\n## An example with every key\n\n```yaml\n%s```\n", example)
	return b.String()
}

var cellEscaper = strings.NewReplacer("|", `\|`, "*", `\*`, "{{", "`{{", "}}", "}}`", "<", "&lt;", "\n", " ")

func cell(s string) string { return cellEscaper.Replace(s) }
