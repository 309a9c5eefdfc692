package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"runner/runner"
	"runner/tasks"
)

// noticeOptions are the flags that tell others how a run went.
type noticeOptions struct{ metrics, junit string }

func (o *noticeOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.metrics, "metrics", "", "write how the tasks stand to this `FILE`, for Prometheus's textfile collector; one file a task")
	f.StringVar(&o.junit, "junit", "", "write the records that are not done to this `FILE`, as JUnit XML")
}

// check finds out before anything runs whether the files can be written.
func (o *noticeOptions) check(c *cobra.Command) error {
	for flag, path := range map[string]string{"metrics": o.metrics, "junit": o.junit} {
		if !c.Flags().Changed(flag) {
			continue
		}
		if err := checkTarget(flag, path); err != nil {
			return err
		}
	}
	return nil
}

// checkTarget finds out whether the file that a flag names can be written.
func checkTarget(flag, path string) error {
	if path == "" {
		return usagef("--%s is empty", flag)
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return usagef("--%s %s is no file", flag, path)
	}
	if st, err := os.Stat(filepath.Dir(path)); err != nil || !st.IsDir() {
		return withHint(usagef("--%s %s: there is no folder %s", flag, path, filepath.Dir(path)), "make the folder first")
	}
	return nil
}

// notices tell others how the runs of one start of the program went: files
// that were asked for, and the hooks of the tasks. They are the last thing,
// and change no outcome.
type notices struct {
	noticeOptions
	a         *app
	where     located
	known     bool // where is
	began     time.Time
	results   []notice
	code      int
	unwritten bool // a file that was asked for
}

// notice is how a task went on one date.
type notice struct {
	runner.Summary
	row   summaryJSON
	facts outcomeFacts
}

// know tells where the command works. From then on hooks count: what was wrong
// before is a mistake in the command line.
func (n *notices) know(where located) { n.where, n.known = where, true }

func (n *notices) take(r batchRun) {
	for i, s := range r.raw {
		n.results = append(n.results, notice{s, r.sums[i], r.facts[i]})
	}
}

// noticing runs fn and tells others how it went, also when it came to nothing.
func (a *app) noticing(c *cobra.Command, o noticeOptions, names []string, fn func(*notices) error) error {
	if err := o.check(c); err != nil {
		return err
	}
	n := &notices{noticeOptions: o, a: a, began: a.now()}
	err := fn(n)
	if dry := c.Flags().Lookup("dry-run"); dry.Value.String() == "true" {
		return err
	}
	n.code = codeOfError(err)
	if err != nil && len(n.results) == 0 {
		for _, name := range names {
			s := a.failedSummary(name, c, err)
			s.StartedAt, s.EndedAt = n.began.UTC(), a.now().UTC()
			n.results = append(n.results, notice{s, newSummary(s, nil), facts(s, nil)})
		}
	}
	if !n.wanted() {
		return err
	}
	if err != nil && !isReported(err) { // before what comes of it
		a.p.fail(a.hinted(c.Root(), err))
		err = &errReported{n.code}
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	n.write(ctx, names)
	n.call(ctx)
	if err == nil && n.unwritten {
		return &errReported{exitFailed}
	}
	return err
}

// wanted tells whether anybody wants to be told.
func (n *notices) wanted() bool {
	return n.metrics != "" || n.junit != "" || slices.ContainsFunc(n.tasks(), func(task string) bool { return n.hook(task) != nil })
}

// tasks names those that were run, each once.
func (n *notices) tasks() (names []string) {
	for _, r := range n.results {
		if !slices.Contains(names, r.TaskName) {
			names = append(names, r.TaskName)
		}
	}
	return names
}

func (n *notices) of(task string) []notice {
	return slices.DeleteFunc(slices.Clone(n.results), func(r notice) bool { return r.TaskName != task })
}

// codeFor is the exit code as one task alone would have it.
func (n *notices) codeFor(task string) int {
	var all []outcomeFacts
	for _, r := range n.of(task) {
		all = append(all, r.facts)
	}
	if len(n.tasks()) > 1 {
		return codeOf(all)
	}
	return n.code
}

// write writes the files that were asked for.
func (n *notices) write(ctx context.Context, names []string) {
	for _, f := range []struct {
		flag, path string
		write      func() error
	}{
		{"metrics", n.metrics, func() error { return n.writeMetrics(ctx, names) }},
		{"junit", n.junit, func() error { return n.writeJUnit(ctx) }},
	} {
		if f.path == "" {
			continue
		}
		if err := f.write(); err != nil {
			n.unwritten = true
			n.a.p.problem("--"+f.flag+": "+err.Error(), "")
		}
	}
}

// hook is the one to call for a task; nil if none.
func (n *notices) hook(task string) *tasks.Hook {
	t := n.where.task(task)
	if !n.known || t == nil {
		return nil
	}
	well := n.codeFor(task) == exitOK
	if well && slices.ContainsFunc(n.of(task), func(r notice) bool { return r.Result != runner.Complete || r.row.incomplete }) {
		return nil
	}
	return t.Hook(well)
}

// call runs the hooks.
func (n *notices) call(ctx context.Context) {
	for _, task := range n.tasks() {
		h := n.hook(task)
		if h == nil {
			continue
		}
		text, err := summaryText(n.of(task))
		if err == nil {
			err = h.Run(ctx, tasks.HookCall{Task: task, Date: dateSpanOf(n.of(task)), ExitCode: n.codeFor(task), Summary: text})
		}
		if err != nil {
			n.a.p.warn(h.Name+" of "+task+": "+oneLine(err.Error()), hintOf(err))
		}
	}
}

// summaryText is what -o json prints of these results.
func summaryText(results []notice) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if len(results) == 1 {
		err = writeJSON(&b, results[0].row, "\n")
	} else {
		err = listJSON(&b, func(yield func(summaryJSON, error) bool) {
			for _, r := range results {
				if !yield(r.row, nil) {
					return
				}
			}
		})
	}
	return b.Bytes(), err
}

// dateSpanOf names the date of the results, or the first and the last.
func dateSpanOf(results []notice) string {
	dates := make([]string, len(results))
	for i, r := range results {
		dates[i] = r.ExecuteDate
	}
	if first, last := slices.Min(dates), slices.Max(dates); first != last {
		return first + ".." + last
	}
	return dates[0]
}
