package tasks

import (
	"fmt"
	"os"
	"strings"

	"runner/runner"
)

// FromDefinition builds a task from what an earlier run stored of it, for
// rerun and recovery without the configuration. What the task sets in the
// environment is not stored: it must be set now, and is inherited.
func FromDefinition(name string, d runner.Definition, jobs int) (runner.Task, error) {
	k := kindOf(d.Kind)
	if k == nil {
		return runner.Task{}, fmt.Errorf("task %s: its stored definition is of the unknown kind %q", name, d.Kind)
	}
	if d.Incomplete {
		return runner.Task{}, &HintError{
			Msg:  fmt.Sprintf("task %s: it held a secret, which was not stored", name),
			Hint: "give the command, or the configuration, again; name secrets by environment variables instead",
		}
	}
	if missing := unset(d.Env); len(missing) > 0 {
		return runner.Task{}, &HintError{
			Msg:  fmt.Sprintf("task %s: it sets environment variables whose values are not stored: %s", name, strings.Join(missing, ", ")),
			Hint: "set them, or give the configuration with --config",
		}
	}
	s, err := k.stored(d.Action)
	if err != nil {
		return runner.Task{}, fmt.Errorf("task %s: its stored definition: %w", name, err)
	}
	doubts, err := storedDoubts(&d, s)
	if err != nil {
		return runner.Task{}, fmt.Errorf("task %s: its stored definition: %w", name, err)
	}
	p := plan{name: name, namespace: d.Namespace, timeZone: d.TimeZone, policy: d.Policy, kind: d.Kind, spec: s, doubts: doubts, secrets: d.Secrets}
	t, err := p.build(jobs)
	t.Definition = d
	return t, err
}

func unset(names []string) (missing []string) {
	for _, n := range names {
		if _, ok := os.LookupEnv(n); !ok {
			missing = append(missing, n)
		}
	}
	return missing
}
