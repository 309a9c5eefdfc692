package cmd

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"runner/tasks"
)

func newTasksShowCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show TASK",
		Short: "Show how one task is defined, with all defaults",
		Long: `Show how one task of runner.yaml is defined, with all defaults. Of secrets and
of its environment only the names are shown.

EXIT STATUS
  0 printed, 2 usage or the configuration is wrong, or there is no such task.`,
		Example: `  runner tasks show grant-coupon
  runner tasks show grant-coupon -o json`,
		Args: exactly("TASK"),
		RunE: func(_ *cobra.Command, args []string) error { return runTasksShow(a, args[0]) },
	}
}

func runTasksShow(a *app, name string) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	t, err := c.Task(name)
	if err != nil {
		return asUsage(err)
	}
	i := t.Info()
	return object(a.p, i, taskFields(i))
}

func taskFields(i tasks.Info) []field {
	return []field{
		{"task", i.Name},
		{"description", i.Description},
		{"kind", i.Kind},
		{"action", strings.TrimRight(i.Action, "\n")},
		{"folder", i.Dir},
		{"records", i.Source},
		{"biz_id", strings.Join(i.BizID, ", ")},
		{"timezone", i.TimeZone},
		{"jobs", strconv.Itoa(i.Jobs)},
		{"timeout", i.Timeout},
		{"attempts", strconv.Itoa(i.Retry.Attempts)},
		{"backoff", i.Retry.Backoff + " to " + i.Retry.MaxBackoff},
		{"gives up after", i.Retry.MaxLater + " of asking for later"},
		{"check", doubtText(i.Check)},
		{"asked first", strconv.FormatBool(i.CheckFirst)},
		{"absent after", i.CheckAfter},
		{"compensation", doubtText(i.Compensate)},
		{"idempotent", strconv.FormatBool(i.Idempotent)},
		{"allow empty", strconv.FormatBool(i.AllowEmpty)},
		{"rate", i.Rate},
		{"max failures", i.MaxFailures},
		{"overlap", i.Overlap},
		{"max wait", i.MaxWait},
		{"needs", strings.Join(i.Needs, ", ")},
		{"schedule", i.Schedule},
		{"on failure", i.OnFailure},
		{"on success", i.OnSuccess},
		{"hook timeout", i.HookTimeout},
		{"keep", i.Keep},
		{"secrets", strings.Join(i.Secrets, ", ")},
		{"environment", strings.Join(i.Env, ", ")},
	}
}

func doubtText(d tasks.DoubtInfo) string {
	if d.Action == "" {
		return ""
	}
	return d.Action + " (timeout " + d.Timeout + ")"
}
