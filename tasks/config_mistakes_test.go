package tasks

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// problems gives the mistakes as line:column: message.
func problems(t testing.TB, text string) []string {
	t.Helper()
	_, err := load(t, text)
	var ce *ConfigError
	if !errors.As(err, &ce) {
		t.Fatalf("got %v, want a ConfigError", err)
	}
	var got []string
	for _, line := range strings.Split(ce.Error(), "\n") {
		_, place, _ := strings.Cut(line, "runner.yaml:")
		got = append(got, strings.TrimSpace(place))
	}
	return got
}

func TestMistakesAreToldWithTheirPlaces(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"the file is empty"}},
		{"a comment", "# nothing\n", []string{"the file is empty"}},
		{"no mapping", "- a\n", []string{`1:1: want keys with values, not a list`}},
		{"no tasks", "namespace: x\n", []string{"1:1: there are no tasks"}},
		{"empty tasks", "tasks: {}\n", []string{"1:8: there are no tasks"}},
		{"null tasks", "tasks:\n", []string{`1:7: "tasks" has no value`}},
		{"two documents", "tasks: {a: {go: noop}}\n---\nb: 1\n", []string{"the file holds more than one document"}},
		{"broken", "tasks: [a\n", []string{"2:1: this is no YAML: did not find expected ',' or ']'"}},
		{"tab", "tasks:\n\ta: 1\n", []string{"2:1: this is no YAML: found character that cannot start any token"}},
		{"unknown key", "tasks:\n  a:\n    go: noop\n    schedules: x\n", []string{`4:5: unknown key "schedules", did you mean "schedule"?`}},
		{"schedule", "tasks:\n  a: {go: noop, schedule: 0 0 30 2 *}\n  b: {go: noop, schedule: 0 25 * * *, schedule_date: tomorrow}\n  c: {go: noop, schedule_since: 2026-02-30}\n  d: {go: noop, schedule: daily}\n  e: {go: noop, schedule_date: today}\n", []string{
			`2:27: "schedule" names a time that never comes: "0 0 30 2 *"`,
			`3:27: "schedule" isn't understood: "0 25 * * *", its hour "25"`,
			`3:54: "schedule_date" wants today, yesterday or a number of days back such as -2d, not "tomorrow"`,
			`4:33: "schedule_since" wants a date such as 2026-11-28, not "2026-02-30"`,
			`5:27: "schedule" wants the five fields of cron, such as "0 2 * * *", or a word such as "@daily", not "daily"`,
			`6:32: "schedule_date" needs a "schedule"`,
		}},
		{"needs", "tasks:\n  sync: {go: noop, needs: [pay]}\n  pay: {go: noop, needs: [{task: grant, offset: 0d}, {offset: -1d}]}\n  grant: {go: noop, needs: [sync, synk, grant]}\n  day: {go: noop, needs: [{task: day, offset: -1d}]}\n", []string{
			`3:49: "offset" wants today, yesterday or a number of days back such as -2d, not "0d"`,
			`3:54: "task" is missing`,
			`4:29: tasks that need each other can never run: sync needs pay needs grant needs sync`,
			`4:35: there is no task "synk"`,
			`4:41: tasks that need each other can never run: grant needs grant`,
		}},
		{"hooks", "tasks:\n  a: {go: noop, on_failure: ['', '{{.biz_id}}'], on_success: [], hook_timeout: 0}\n", []string{
			`2:30: the name of the program is empty`,
			`2:34: "on_failure" can't hold a template`,
			`2:62: "on_success" is an empty list`,
			`2:80: "hook_timeout" can't be 0`,
		}},
		{"a section as text", "tasks:\n  a: {go: noop, sql: x, ned: [b]}\n", []string{
			`2:22: "sql" wants keys with values, not "x"`, `2:25: unknown key "ned"`,
		}},
		{"flow", "tasks:\n  a: {run: [x], rate: 5, max_failures: 101%, overlap: wait, max_wait: -1s, retry: {max_later: 1}}\n  b: {go: noop, rate: 0/s, max_failures: 1.5, exit_codes: {later: [75]}}\n  c: {run: [x], exit_codes: {noop: [75], later: [75, 0]}}\n", []string{
			`2:23: "rate" wants a rate such as 50/s, 100/m or 1000/h, not "5"`,
			`2:40: "max_failures" is more than 100%: 101%`,
			`2:55: "overlap" can be join, skip, fail, not "wait"`,
			`2:71: "max_wait" is negative: -1s`,
			`2:95: "max_later" wants a duration such as 30s, 5m or 1h30m, not "1"`,
			`3:23: "rate" must be more than 0, not "0/s"`,
			`3:42: "max_failures" wants a number such as 10 or a share such as 5%, not "1.5"`,
			`3:59: "exit_codes" is for commands, not for a Go function`,
			`4:50: exit code 75 is listed twice`,
			`4:54: exit code 0 can't be chosen: 0 is success, the others are 1 to 255`,
		}},
		{"sources", "tasks:\n  a: {go: noop, records: {command: [], format: xml}}\n  b: {go: noop, records: {command: ['{{.execute_date}}', '{{.biz_id}}'], biz_id: x}}\n  c: {go: noop, records: {glob: 'a/**/[', format: csv, biz_id: x}}\n  d: {go: noop, records: {jsonl: '', command: x}}\n", []string{
			`2:36: "command" is an empty list`,
			`2:48: "format" can be lines, csv, jsonl, not "xml"`,
			`3:37: the program can't be a template: "{{.execute_date}}"`,
			`3:58: template "{{.biz_id}}": there is no .biz_id, only .execute_date`,
			`3:82: "biz_id" names columns of a csv or members of a jsonl`,
			`4:33: "glob" has no **`,
			`4:33: "[" is no pattern for names: a [ is never closed, or a \ ends it`,
			`4:51: "format" is for the output of a "command"`,
			`4:64: "biz_id" names columns of a csv or members of a jsonl`,
			`5:34: the path is empty`,
			`5:47: "command" wants a list, not "x"`,
		}},
		{"misspelt key", "tasks:\n  a: {go: noop, idempotant: true}\n", []string{`2:17: unknown key "idempotant", did you mean "idempotent"?`}},
		{"wrong types", "create_ledger: yes\ntasks:\n  a:\n    run: ./x.sh\n    jobs: many\n    timeout: 30\n    retry: 3\n    env: [A]\n", []string{
			`1:16: "create_ledger" wants true or false, not "yes"`,
			`4:10: "run" wants a list, not "./x.sh"`,
			`5:11: "jobs" wants a whole number, not "many"`,
			`6:14: "timeout" wants a duration such as 30s, 5m or 1h30m, not "30"`,
			`7:12: "retry" wants keys with values, not "3"`,
			`8:10: "env" wants keys with values, not a list`,
		}},
		{"null items", "tasks:\n  a:\n    run: [echo, ~, null, x]\n    env: {A: }\n", []string{
			`3:17: "run[1]" has no value`, `3:20: "run[2]" has no value`, `4:14: "A" has no value`,
		}},
		{"duplicate keys", "tasks:\n  a: {go: noop}\n  a: {go: noop}\n", []string{`3:3: key "a" is given twice, first on line 2`}},
		{"both kinds", "tasks:\n  a:\n    run: [x]\n    shell: y\n", []string{`4:12: "run" and "shell" exclude each other`}},
		{"no kind", "tasks:\n  a:\n    jobs: 1\n", []string{"3:5: nothing to do: give one of run, shell, go, http, sql"}},
		{"values", "timezone: Mars/X\ntasks:\n  -a:\n    go: noop\n    jobs: 0\n    timeout: -1s\n    retry: {attempts: 0, backoff: 10s, max_backoff: 1s}\n", []string{
			`1:11: "Mars/X" is no time zone`,
			`3:3: task name "-a" starts with '-'`,
			`5:11: "jobs" must be 1 to 4096, not 0`,
			`6:14: "timeout" is negative: -1s`,
			`7:23: "attempts" must be at least 1, not 0`,
			`7:53: "max_backoff" is shorter than the backoff of 10s`,
		}},
		{"records", "tasks:\n  a: {go: noop, records: {lines: a, csv: b}}\n  b: {go: noop, records: {lines: a, biz_id: x}}\n  c: {go: noop, records: {biz_id: x}}\n  d: {go: noop, records: {csv: '{{.biz_id}}', biz_id: [a, a]}}\n", []string{
			`2:42: "lines" and "csv" exclude each other`,
			`3:45: "biz_id" names columns of a csv or members of a jsonl`,
			`4:26: "records" needs one of lines, csv, jsonl, command, glob, http, sql`,
			`5:32: template "{{.biz_id}}": there is no .biz_id, only .execute_date`,
			`5:59: "biz_id" names "a" twice`,
		}},
		{"commands", "tasks:\n  a: {run: ['{{.biz_id}}', '{{.fields.x', '{{.name}}']}\n  b: {shell: 'echo {{.biz_id}}', stdin: yaml, keep_output: some}\n  c: {run: [], dir: '{{.biz_id}}'}\n  d: {run: [''], exit_codes: {noop: [0, 3], permanent: [3, 256]}}\n", []string{
			`2:13: the program can't be a template: "{{.biz_id}}"`,
			`2:28: template "{{.fields.x": unclosed action`,
			`2:43: template "{{.name}}": there is no .name, only .biz_id, .execute_date, .task_name, .generation, .idempotency_key, .fields`,
			`3:14: a shell script can't hold a template`,
			`3:41: "stdin" can be json, not "yaml"`,
			`3:60: "keep_output" can be failed, all, none, not "some"`,
			`4:12: "run" is an empty list`,
			`4:21: "dir" can't hold a template`,
			`5:13: the name of the program is empty`,
			`5:38: exit code 0 can't be chosen: 0 is success, the others are 1 to 255`,
			`5:57: exit code 3 is listed twice`,
			`5:60: exit code 256 can't be chosen: 0 is success, the others are 1 to 255`,
		}},
		{"environment", "ledger: ${TASKS_TEST_UNSET}\ntasks:\n  a:\n    run: [x]\n    env: {RUNNER_BIZ_ID: 1, RUNNER_FIELD_X: 2, 'A=B': 3}\n    secrets: ['A=b']\n", []string{
			`1:9: environment variable "TASKS_TEST_UNSET" is not set`,
			`5:11: RUNNER_BIZ_ID is set by runner for each record`,
			`5:29: RUNNER_FIELD_X is set by runner for each record`,
			`5:48: "A=B" can't name an environment variable`,
			`6:15: "A=b" can't name an environment variable`,
		}},
		{"Go", "tasks:\n  a: {go: nop, dir: x}\n", []string{
			`2:11: there is no Go function "nop", did you mean "noop"?`, `2:21: "dir" is for commands, not for a Go function`,
		}},
		{"an alias that holds itself", "tasks:\n  a: &a {go: noop, <<: *a}\n", []string{`2:24: << holds itself`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, problems(t, c.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAliasBombsEnd(t *testing.T) {
	text := "tasks:\n  x0: &x0 {description: x}\n"
	for i := 1; i < 12; i++ {
		ten := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", ")
		text += fmt.Sprintf("  x%d: &x%d {<<: [%s]}\n", i, i, ten)
	}
	got := problems(t, text)
	if !strings.Contains(strings.Join(got, "\n"), "aliases make the file too large") {
		t.Errorf("got %q", got)
	}
}

// Whatever stands before it, a mistake is told at its place.
func TestPlacesAreThoseOfTheMistakes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		line := 0
		put := func(s string) { b.WriteString(s + "\n"); line++ }
		filler := rapid.SampledFrom([]string{"# comment", "", "  # 优惠券"})
		for range rapid.IntRange(0, 5).Draw(rt, "before") {
			put(filler.Draw(rt, "filler"))
		}
		put("tasks:")
		bad := map[int]bool{}
		for i := range rapid.IntRange(1, 6).Draw(rt, "tasks") {
			put("  t" + string(rune('a'+i)) + ":")
			put("    go: noop")
			for range rapid.IntRange(0, 2).Draw(rt, "more") {
				put(filler.Draw(rt, "filler"))
			}
			if rapid.Bool().Draw(rt, "wrong") {
				put("    jobs: -1")
				bad[line] = true
			}
		}
		_, err := Load(write(t, t.TempDir(), "runner.yaml", b.String()))
		var ce *ConfigError
		if errors.As(err, &ce) != (len(bad) > 0) {
			rt.Fatalf("got %v for\n%s", err, b.String())
		}
		if ce == nil {
			return
		}
		for _, p := range ce.Problems {
			if !bad[p.Line] || p.Column != 11 {
				rt.Fatalf("got %v for\n%s", p, b.String())
			}
		}
		if len(ce.Problems) != len(bad) {
			rt.Fatalf("got %d of %d", len(ce.Problems), len(bad))
		}
	})
}
