package cmd

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"runner/runner"
	"runner/tasks"
)

func newExecCmd(a *app) *cobra.Command {
	o := execOptions{runOptions: runOptions{flowOptions: newFlowOptions()}}
	c := &cobra.Command{
		Use:   "exec NAME [flags] -- COMMAND [ARG…]",
		Short: "Do the same for a command line: xargs with a memory",
		Long: `Run a command once for every id on stdin (or in --from, or in --biz-id), and
remember in the ledger which ids are done. {} in an argument is the id; without
any {} the id is added at the end. The command, its folder and its time zone
are kept in the ledger, so that runner rerun NAME needs no configuration; from
another folder it needs --ledger. NAME is what records are done under: the same
name with another command goes on with the same records.

With --shell COMMAND is one script for sh, which has the id as "$1".

What --check says of a record whose outcome is unknown decides: exit 0, its
effect is there, it is done; 1, it isn't, it is tried again; 2, half of it is,
--compensate undoes it and the check is asked again; any other can't tell, a
person must. Both are one text each, split at spaces as a shell does it (with
'', "" and \), in which {} is the id as in COMMAND; with --shell they are
scripts too.

EXIT STATUS
  0 complete, 1 some records failed, 2 usage or input is wrong and nothing was
  executed, 3 records in doubt need a person, 4 halted, 5 busy or waiting,
  7 the ledger can't be used, 129, 130, 143 interrupted.`,
		Example: `  cat ids | runner exec grant --date today -- ./grant.sh {}
  runner exec pay --from ids --check './was-paid.sh {}' -- ./pay.sh {}
  runner exec warm-cache --from urls.txt -j 8 --idempotent -- curl -fsS -o /dev/null`,
		Args: func(c *cobra.Command, args []string) error {
			switch dash := c.ArgsLenAtDash(); {
			case len(args) == 0 || dash == 0:
				return withHint(usagef("NAME is missing"), "usage: %s", c.UseLine())
			case dash < 0 && len(args) > 1, dash > 1:
				return withHint(usagef("unexpected argument %q", args[1]), "the command comes after --: runner exec %s -- %s", args[0], args[1])
			case len(args) == 1:
				return withHint(usagef("COMMAND is missing"), "usage: %s", c.UseLine())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.noticing(c, o.noticeOptions, args[:1], func(n *notices) error {
				return a.reporting(args[0], c, func() error { return runExec(c.Context(), a, c, o, args[0], args[1:], n) })
			})
		},
	}
	o.addFlags(c)
	return c
}

type execOptions struct {
	runOptions
	idempotent, shell bool
	secrets           []string
	check, compensate string
	checkAfter        time.Duration
}

func (o *execOptions) addFlags(c *cobra.Command) {
	o.runOptions.addFlags(c)
	f := c.Flags()
	f.Lookup("biz-id").Usage = "the record with this `ID`, instead of stdin (repeatable); - for one record without an id"
	f.BoolVar(&o.idempotent, "idempotent", false, "repeating a record is harmless: what is in doubt is repeated")
	f.StringVar(&o.check, "check", "", "`COMMAND` that tells whether the effect of a record is there, asked when its outcome is unknown")
	f.DurationVar(&o.checkAfter, "check-after", 0, "`TIME` after an attempt for which its effect may still appear; must be given with --timeout 0")
	f.StringVar(&o.compensate, "compensate", "", "`COMMAND` that undoes half an effect; needs --check")
	f.BoolVar(&o.shell, "shell", false, `COMMAND is one script for sh, with the id as "$1"`)
	f.StringArrayVar(&o.secrets, "secret", nil, "never show the value of this environment `VARIABLE` (repeatable)")
}

func (o *execOptions) validate(c *cobra.Command) error {
	for name, value := range map[string]string{"check": o.check, "compensate": o.compensate} {
		if c.Flags().Changed(name) && strings.TrimSpace(value) == "" {
			return usagef("--%s is empty", name)
		}
	}
	return o.runOptions.check(c)
}

func runExec(ctx context.Context, a *app, c *cobra.Command, o execOptions, name string, command []string, n *notices) error {
	if err := o.validate(c); err != nil {
		return err
	}
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	dates, err := o.dates(a, where)
	if err != nil {
		return err
	}
	n.know(where)
	built, err := o.build(c, where, name, command)
	if err != nil {
		return err
	}
	src, err := o.execSource(a)
	if err != nil {
		return asUsage(err)
	}
	defer src.Close() // it was only read
	shard, err := parseShard(o.shard, a.getenv)
	if err != nil {
		return err
	}
	first := job{task: built, source: src}
	reading, stop := interruptible(ctx)
	defer stop()
	if err := first.readThrough(reading, shard); err != nil {
		return err
	}
	var ready []job
	for _, date := range dates { // the same records on each
		first.date = date
		ready = append(ready, first)
	}
	return a.runJobs(ctx, where, ready, o.jobOptions("exec", c, len(dates), n))
}

// build makes a task of the command line. Its action can be started.
func (o *execOptions) build(c *cobra.Command, where located, name string, command []string) (built runner.Task, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return built, usagef("can't tell the working directory: %w", err)
	}
	e := tasks.Exec{
		Name: name, Command: command, Shell: o.shell, Dir: dir, Idempotent: o.idempotent, Secrets: o.secrets,
		Check: o.check, Compensate: o.compensate,
		Namespace: where.namespace(), TimeZone: where.zoneName, Location: where.zone, AllowEmpty: o.allowEmpty,
	}
	if c.Flags().Changed("timeout") {
		e.Timeout = &o.timeout
	}
	if c.Flags().Changed("check-after") {
		e.CheckAfter = &o.checkAfter
	}
	if c.Flags().Changed("retries") {
		e.Retries = &o.retries
	}
	if built, err = e.Build(o.jobs); err != nil {
		return built, asUsage(err)
	}
	if err := o.flowOptions.override(c, &built); err != nil {
		return built, err
	}
	if err := built.Action.Prepare(); err != nil {
		return built, asUsage(err)
	}
	return built, nil
}

func (o *execOptions) execSource(a *app) (runner.Source, error) {
	fields, err := parseFields(o.set)
	if err != nil {
		return nil, err
	}
	switch {
	case o.from != "" && len(o.bizIDs) > 0:
		return nil, usagef("--from and --biz-id exclude each other")
	case len(o.bizIDs) > 0:
		return tasks.OpenSource(tasks.SourceOptions{IDs: o.bizIDs, Fields: fields})
	case o.from == "" && a.stdinTTY:
		return nil, withHint(usagef("there is no input: stdin is a terminal"), "pipe the ids in, or give --from FILE or --biz-id ID")
	case o.from == "":
		return tasks.OpenSource(tasks.SourceOptions{Path: "-", Format: o.format, Stdin: a.stdin, Fields: fields})
	}
	return tasks.OpenSource(tasks.SourceOptions{Path: o.from, Format: o.format, Stdin: a.stdin, Fields: fields})
}
