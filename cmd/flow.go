package cmd

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"runner/runner"
	"runner/tasks"
)

// flowOptions are the flags that say how a run goes about its records, and
// are no part of the task's definition.
type flowOptions struct {
	noticeOptions
	overlap          choice
	maxFailures      string
	wait             time.Duration
	shard            string
	includeAbsent    bool
	freshInput       bool
	acceptDefinition bool
	progress         choice
}

func newFlowOptions() flowOptions {
	return flowOptions{
		overlap:  choice{allowed: []string{string(runner.Join), string(runner.Skip), string(runner.Fail)}},
		progress: choice{value: progressAuto, allowed: progressForms},
	}
}

func (o *flowOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.Var(&o.overlap, "overlap", "while another run works on the batch: share the records, leave them to it and be content, or not (default: the task's, else join)")
	f.StringVar(&o.maxFailures, "max-failures", "", "halt when more than `N` attempts, or N% of them, failed or are in doubt")
	f.DurationVar(&o.wait, "wait", 0, "wait at most `TIME` for records that others hold (default: as long as an attempt can take; for survivors of dead runs not at all)")
	f.StringVar(&o.shard, "shard", "", "only the records of shard `I/N`, by their hash; auto/N takes I from $JOB_COMPLETION_INDEX")
	f.BoolVar(&o.includeAbsent, "include-absent", false, "do the records of the batch too that the input doesn't hold")
	f.BoolVar(&o.freshInput, "fresh-input", false, "take changed fields also of records that have been started")
	f.BoolVar(&o.acceptDefinition, "accept-definition", false, "run although a live run of the batch works by another definition")
	f.Var(&o.progress, "progress", "how to show progress on stderr; auto is a bar on a terminal, else a line every 30 s unless -q")
	o.noticeOptions.addFlags(c)
	completeWith(c, "overlap", o.overlap.allowed...)
	completeWith(c, "progress", o.progress.allowed...)
}

// completeWith offers fixed values for a flag.
func completeWith(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// override takes over what the flags say of the task.
func (o *flowOptions) override(c *cobra.Command, t *runner.Task) (err error) {
	if o.overlap.value != "" {
		t.Overlap = runner.Overlap(o.overlap.value)
	}
	if c.Flags().Changed("max-failures") {
		if t.MaxFailures, err = tasks.ParseTolerance(o.maxFailures); err != nil {
			return withHint(usagef("--max-failures: %w", err), "use a number, or a share like 5%%")
		}
	}
	return nil
}

// fill puts the flags into the options of a run.
func (o *flowOptions) fill(c *cobra.Command, r *runner.Options) {
	if c.Flags().Changed("wait") {
		r.Wait = &o.wait
	}
	r.IncludeAbsent, r.FreshInput, r.AcceptDefinition = o.includeAbsent, o.freshInput, o.acceptDefinition
}

// indexVar is where an Indexed Job of Kubernetes tells a pod its number, from 0.
const indexVar = "JOB_COMPLETION_INDEX"

// parseShard reads I/N, or auto/N.
func parseShard(text string, getenv func(string) string) (s runner.Shard, err error) {
	if text == "" {
		return s, nil
	}
	i, n, ok := strings.Cut(text, "/")
	if i == "auto" {
		index, err := strconv.Atoi(getenv(indexVar))
		if err != nil || index < 0 {
			return s, withHint(usagef("--shard %s: %s is %q, not the number of a pod", text, indexVar, getenv(indexVar)),
				"an Indexed Job of Kubernetes sets it; elsewhere use I/N with I from 1 to N")
		}
		i = strconv.Itoa(index + 1)
	}
	if ok {
		s.Index, err = strconv.Atoi(i)
	}
	if ok && err == nil {
		s.Count, err = strconv.Atoi(n)
	}
	if !ok || err != nil || s.Index < 1 || s.Index > s.Count {
		return s, withHint(usagef("--shard %q is not understood", text), "use I/N with I from 1 to N: --shard 1/4")
	}
	return s, nil
}

// parseFields reads --set name=value.
func parseFields(set []string) ([]tasks.Field, error) {
	fields := make([]tasks.Field, len(set))
	for i, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, withHint(usagef("--set %q is not understood", s), "use --set name=value")
		}
		fields[i] = tasks.Field{Name: name, Value: value}
	}
	return fields, nil
}
