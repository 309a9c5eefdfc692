package tasks

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"runner/runner"
)

const fieldPrefix = "RUNNER_FIELD_"

// recordVariables are set for each attempt. Those of an outer runner are not
// passed on.
var recordVariables = []string{
	"RUNNER_TASK_NAME", "RUNNER_BIZ_ID", "RUNNER_EXECUTE_DATE", "RUNNER_IDEMPOTENCY_KEY", "RUNNER_FENCE",
	"RUNNER_ATTEMPT", "RUNNER_ATTEMPT_ID", "RUNNER_RUN_ID", "RUNNER_GENERATION", "RUNNER_RESULT",
}

// appendRecord adds the variables of an attempt, in the order of the list.
func appendRecord(env []string, a *runner.Attempt, result string) ([]string, error) {
	values := [...]string{
		a.TaskName, a.BizID, a.ExecuteDate, a.IdempotencyKey, strconv.FormatInt(a.Fence, 10),
		strconv.Itoa(a.Number), a.ID, a.RunID, strconv.Itoa(a.Generation), result,
	}
	for i, v := range values {
		env = append(env, recordVariables[i]+"="+v)
	}
	first := len(env)
	for name, value := range a.Fields {
		variable := fieldVariable(name) + "="
		if slices.ContainsFunc(env[first:], func(kv string) bool { return strings.HasPrefix(kv, variable) }) {
			return env, fieldCollision(slices.Collect(maps.Keys(a.Fields)))
		}
		env = append(env, variable+value)
	}
	return env, nil
}

// fieldVariable gives the environment variable of a field.
func fieldVariable(name string) string {
	return fieldPrefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return '_'
	}, name)
}

// fieldCollision names two fields that would be the same variable, or gives
// nil.
func fieldCollision(names []string) error {
	names = slices.Sorted(slices.Values(names))
	by := map[string]string{}
	for _, name := range names {
		v := fieldVariable(name)
		if other, ok := by[v]; ok {
			return fmt.Errorf("fields %q and %q would both be %s in the environment", other, name, v)
		}
		by[v] = name
	}
	return nil
}

func isRecordVariable(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return strings.HasPrefix(name, fieldPrefix) || slices.Contains(recordVariables, name)
}

// baseEnviron is what all commands of a task have: the environment of runner,
// without the record of an outer runner, and what the task sets.
func baseEnviron(dir string, set []variablePair) []string {
	own := append([]variablePair{{"PWD", dir}}, set...)
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		replaced := slices.ContainsFunc(own, func(v variablePair) bool { return sameVariable(v.name, name) })
		if !replaced && !isRecordVariable(name) {
			env = append(env, kv)
		}
	}
	for i, v := range own {
		if i == 0 && slices.ContainsFunc(set, func(o variablePair) bool { return o.name == v.name }) {
			continue
		}
		env = append(env, v.name+"="+v.value)
	}
	return env
}

func sameVariable(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}
