package tasks

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"runner/ledger"
	"runner/runner"
)

const fieldPrefix = "RUNNER_FIELD_"

// recordVariables are set for each attempt. Those of an outer runner are not
// passed on.
var recordVariables = []string{
	"RUNNER_TASK_NAME", "RUNNER_BIZ_ID", "RUNNER_EXECUTE_DATE", "RUNNER_IDEMPOTENCY_KEY", "RUNNER_FENCE",
	"RUNNER_ATTEMPT", "RUNNER_ATTEMPT_ID", "RUNNER_RUN_ID", "RUNNER_GENERATION", "RUNNER_PHASE", "RUNNER_RESULT",
}

// appendRecord adds the variables of an attempt, in the order of the list.
func appendRecord(env []string, a *runner.Attempt, ph ledger.Phase, result string) ([]string, error) {
	values := [...]string{
		a.TaskName, a.BizID, a.ExecuteDate, a.IdempotencyKey, strconv.FormatInt(a.Fence, 10),
		strconv.Itoa(a.Number), a.ID, a.RunID, strconv.Itoa(a.Generation), ph.String(), result,
	}
	for i, v := range values {
		env = append(env, recordVariables[i]+"="+v)
	}
	first := len(env)
	for name, value := range a.Fields {
		variable := fieldVariable(name) + "="
		if slices.ContainsFunc(env[first:], func(kv string) bool { return strings.HasPrefix(kv, variable) }) {
			return appendDistinct(env[:first], a.Fields)
		}
		env = append(env, variable+value)
	}
	return env, nil
}

// appendDistinct adds the fields whose variables are theirs alone.
func appendDistinct(env []string, fields map[string]string) ([]string, error) {
	if err := fieldCollision(slices.Collect(maps.Keys(fields))); err != nil {
		return env, err
	}
	count := map[string]int{}
	for name := range fields {
		count[fieldVariable(name)]++
	}
	for name, value := range fields {
		if v := fieldVariable(name); count[v] == 1 {
			env = append(env, v+"="+value)
		}
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
// nil. Only names in ASCII count: each letter of another script becomes the
// same _, so that such names are often the same without any fault of theirs.
func fieldCollision(names []string) error {
	names = slices.Sorted(slices.Values(names))
	by := map[string]string{}
	for _, name := range names {
		if !isASCII(name) {
			continue
		}
		v := fieldVariable(name)
		if other, ok := by[v]; ok {
			return fmt.Errorf("fields %q and %q would both be %s in the environment", other, name, v)
		}
		by[v] = name
	}
	return nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
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
