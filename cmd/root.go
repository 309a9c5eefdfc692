package cmd

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is one invocation: its world, its shared flags, its printer.
type app struct {
	env
	flags   sharedFlags
	p       *printer
	started bool     // a command's run function was reached
	dead    []string // runs that were said to have died
}

// sharedFlags are those that every command has.
type sharedFlags struct {
	config, ledger string
	output         choice
	logFormat      choice
	quiet, verbose bool
	noColor        bool
	networkFS      bool
	runDir         string
}

func newApp(e env) *app {
	a := &app{env: e, p: newPrinter(e)}
	a.flags.output = choice{value: string(formTable), allowed: forms}
	a.flags.logFormat = choice{value: logText, allowed: []string{logText, logJSON}}
	a.p.configure(e, a.flags) // until the flags are read
	return a
}

// execute runs the command that the arguments name.
func (a *app) execute(ctx context.Context) error {
	root := newRootCmd(a)
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	root.SetOut(a.p.out) // help and completions
	root.SetErr(a.p.err)
	root.InitDefaultCompletionCmd(a.args...)
	if c := subcommand(root, "completion"); c != nil {
		newGroup(c)
	}
	a.watchStart(root)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started { // cobra's own errors have no type
		a.p.configure(a.env, a.flags)
		return a.withSummary(asUsage(err))
	}
	return quietly(a.hinted(root, err))
}

// hinted sends who used a command wrongly to its help, if nothing better was
// offered.
func (a *app) hinted(root *cobra.Command, err error) error {
	var u *usageError
	if !errors.As(err, &u) || errors.Unwrap(u.err) != nil || hintOf(err) != "" {
		return err
	}
	if c, _, ferr := root.Find(a.args); ferr == nil {
		return withHint(err, "%s --help tells how it is used", c.CommandPath())
	}
	return err
}

// watchStart notes when a command itself begins: errors before are usage.
func (a *app) watchStart(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			a.started = true
			return run(c, args)
		}
	}
	for _, sub := range c.Commands() {
		a.watchStart(sub)
	}
}

func newRootCmd(a *app) *cobra.Command {
	c := newGroup(&cobra.Command{
		Use:   "runner",
		Short: "Run batch jobs so that each record of a business date is done once",
		Long: `runner does the records of a batch job once for each business date, and knows
what is done: whatever is killed, restarted or started twice, run it again.

EXIT STATUS
  0  complete, or nothing to do
  1  some records failed
  2  usage, configuration or input is wrong; nothing was executed
  3  records in doubt need a person
  4  halted by max_failures, or by an action that can't be started
  5  busy or waiting: others hold records, or records wait for a later time
  6  blocked by a task that this one needs
  7  the ledger can't be used
  129, 130, 143  interrupted by HUP, INT or TERM; run again to go on`,
		Example: `  runner init
  cat ids | runner exec grant --date today -- ./grant.sh {}
  runner status`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			return a.readShared(c.Flags())
		},
	}, newInitCmd(a), newRunCmd(a), newExecCmd(a), newRerunCmd(a), newRecoverCmd(a), newDoctorCmd(a), newStatusCmd(a), newGapsCmd(a), newReportCmd(a),
		newLedgerCmd(a), newRunsCmd(a), newTasksCmd(a), newManCmd(a), newVersionCmd(a), newWatchdogCmd(a))
	c.SetUsageFunc(usage)
	c.SetHelpCommand(newHelpCmd())
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return flagError(c, err)
	})
	addSharedFlags(c, &a.flags)
	a.addCompletions(c)
	return c
}

func addSharedFlags(c *cobra.Command, f *sharedFlags) {
	p := c.PersistentFlags()
	p.SortFlags = false
	p.StringVar(&f.config, "config", "", "configuration `FILE` (default: $RUNNER_CONFIG, else runner.yaml here or in the nearest parent)")
	p.StringVar(&f.ledger, "ledger", "", "ledger `PATH`, or postgres://user@host/database (default: $RUNNER_LEDGER, else the configuration's, else .runner/ledger.db beside it)")
	p.StringVar(&f.runDir, "run-dir", "", "`DIR` of this host's run files, for a ledger on PostgreSQL (default: .runner/runs beside the configuration)")
	p.VarP(&f.output, "output", "o", "form of what is printed on stdout")
	p.BoolVarP(&f.quiet, "quiet", "q", false, "no notes, no progress")
	p.BoolVarP(&f.verbose, "verbose", "v", false, "say more on stderr")
	p.BoolVar(&f.noColor, "no-color", false, "no colour, as with $NO_COLOR")
	p.Var(&f.logFormat, "log-format", "form of logs and errors on stderr")
	p.BoolVar(&f.networkFS, "allow-network-fs", false, "accept a ledger on a network file system, where locks may lie")
	for name, values := range map[string][]string{"output": forms, "log-format": {logText, logJSON}} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // both exist
	}
}

// readShared makes the printer that the flags ask for.
func (a *app) readShared(set *pflag.FlagSet) error {
	a.p.configure(a.env, a.flags)
	if a.flags.quiet && a.flags.verbose {
		return usagef("-q and -v exclude each other")
	}
	for _, name := range []string{"config", "ledger"} {
		if f := set.Lookup(name); f.Changed && f.Value.String() == "" {
			return usagef("--%s is empty", name)
		}
	}
	return nil
}

// newGroup makes a command that only has commands below it.
func newGroup(c *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	c.AddCommand(subs...)
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(c, args[0])
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return withHint(usagef("no command given"), "%s --help lists the commands", c.CommandPath())
	}
	return c
}

func unknownCommand(c *cobra.Command, name string) error {
	c.SuggestionsMinimumDistance = 2
	err := usagef("unknown command %q for %q", name, c.CommandPath())
	if near := c.SuggestionsFor(name); len(near) > 0 {
		return withHint(err, "did you mean %s %s?", c.CommandPath(), strings.Join(near, " or "))
	}
	return withHint(err, "%s --help lists the commands", c.CommandPath())
}

// exactly accepts one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		var err error
		switch {
		case len(args) == len(names):
			return nil
		case len(args) > len(names):
			err = usagef("unexpected argument %q", args[len(names)])
		default:
			err = usagef("%s is missing", strings.Join(names[len(args):], " "))
		}
		return withHint(err, "usage: %s", c.UseLine())
	}
}

// asUsage makes any error a usage error, and keeps its hint.
func asUsage(err error) error {
	if isUsage(err) {
		return err
	}
	return &usageError{err: err}
}

// choice is a flag with a fixed set of values.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.allowed, "|") }
func (c *choice) Set(s string) error {
	for _, v := range c.allowed {
		if s == v {
			c.value = s
			return nil
		}
	}
	return usagef("use one of %s", strings.Join(c.allowed, ", "))
}
