package tasks

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

func compiledSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("runner.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("runner.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plain gives a YAML text as an editor hands it to its validator.
func plain(t testing.TB, text string) any {
	t.Helper()
	var root yaml.Node
	if err := yaml.Load([]byte(text), &root); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return plainNode(root.Content[0])
}

func plainNode(n *yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		return plainNode(n.Alias)
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, plainNode(c))
		}
		return list
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			v := plainNode(n.Content[i+1])
			if n.Content[i].ShortTag() == "!!merge" {
				for k, v := range v.(map[string]any) {
					m[k] = v
				}
				continue
			}
			m[n.Content[i].Value] = v
		}
		return m
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true"
	case "!!int", "!!float":
		if _, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return json.Number(n.Value)
		}
		return json.Number("1")
	}
	return n.Value
}

func TestSchemaTakesWhatLoads(t *testing.T) {
	s := compiledSchema(t)
	valid := []string{fullConfig, example}
	for _, task := range []string{
		"go: noop", "go: noop, retry: {backoff: 5m}", "run: [x], exit_codes: {later: []}", "shell: x, env: {}", "go: noop, timeout: 0",
		"go: noop, records: {csv: x, biz_id: a}", "go: noop, records: {jsonl: x, biz_id: [a, 1]}", "go: noop, records: {command: [a], format: csv}",
		"go: noop, max_failures: 10", "go: noop, max_failures: 0.5%", "go: noop, rate: 0.5/h", "go: noop, rate: 100/m", "go: noop, max_wait: 1h30m", "go: noop, check: [x], env: {A: b}, dir: x", "run: [x], timeout: 0, check: [x], check_after: 1m, check_first: true, compensate: [x]",
		`go: noop, schedule: "0 2 * * *", schedule_date: -2d, schedule_since: 2026-11-01`, `go: noop, schedule: "@daily"`, `go: noop, schedule: "30 4 1,15 * MON-FRI"`,
		"go: noop, needs: [{task: a, offset: -1d}, {task: a, offset: yesterday}]", "go: noop, on_failure: [x, y], on_success: [z], hook_timeout: 5s",
		"http: {url: 'http://x/'}", "http: {url: 'http://x/', method: PUT, json: {a: [1, 1.50, true, ~, {b: x}]}, expect: 2xx, noop: [404, 409]}", "http: {url: 'http://x/', body: x, headers: {A: 1}, proxy: none}, keep_output: all",
		"run: [x], check: {http: {url: 'http://x/'}}, compensate: {http: {url: 'http://x/', noop: 404}}", "go: noop, records: {http: {url: 'http://x/{{.execute_date}}'}, biz_id: a}",
		"sql: {database: 'sqlite:x.db', statement: DELETE FROM a}", "sql: {database: 'sqlite:x.db', statements: [DELETE FROM a], guard: off, on_no_rows: fail, batch: 1000}, check: {sql: {database: 'sqlite:x.db', query: SELECT 1}}",
		"go: noop, records: {sql: {database: 'sqlite:x.db', query: SELECT 1}, biz_id: a}",
	} {
		valid = append(valid, "tasks: {a: {"+task+"}}")
	}
	t.Setenv("TASKS_TEST_NAME", "x")
	for _, text := range valid {
		mustLoad(t, text)
		if err := s.Validate(plain(t, text)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}

func TestSchemaRefusesUnknownKeysAndWrongTypes(t *testing.T) {
	s := compiledSchema(t)
	for _, text := range []string{
		"namespace: x", "tasks: {}", "tasks:", "tasks: []", "taskz: {}\ntasks: {a: {go: noop}}", "ledger: [x]\ntasks: {a: {go: noop}}",
		"create_ledger: yes\ntasks: {a: {go: noop}}", "create_ledger: 1\ntasks: {a: {go: noop}}",
	} {
		refused(t, s, text)
	}
	for _, task := range []string{
		"", "jobs: 1", "run: [x], shell: y", "go: noop, run: [x]", "run: ./x.sh", "run: []", "run: [echo, ~]", "run: [[x]]", "go: noop, idempotant: true",
		"go: noop, jobs: many", "go: noop, jobs: 0", "go: noop, jobs: 1.5", "go: noop, jobs: 5000", "go: noop, timeout: 30", "go: noop, timeout: -1s", "go: noop, timeout: fast",
		"go: noop, retry: 3", "go: noop, retry: {attempts: 0}", "go: noop, retry: {attempt: 1}", "go: noop, retry: {backoff: 5}",
		"run: [x], env: [A]", "run: [x], env: {A: }", "run: [x], env: {A: [1]}", "run: [x], stdin: yaml", "run: [x], keep_output: some",
		"run: [x], exit_codes: {noop: [0]}", "run: [x], exit_codes: {later: 75}", "run: [x], exit_codes: {other: [1]}", "run: [x], exit_codes: {permanent: [256]}",
		"go: noop, rate: 5", "go: noop, rate: 5/d", "go: noop, rate: 0/s", "go: noop, max_failures: -1", "go: noop, max_failures: 1.5", "go: noop, max_failures: 101%",
		"go: noop, overlap: wait", "go: noop, max_wait: 10", "go: noop, records: {}", "go: noop, records: x", "go: noop, records: {lines: a, csv: b}",
		"go: noop, records: {command: x}", "go: noop, records: {command: []}", "go: noop, records: {command: [x], format: xml}", "go: noop, records: {csv: x, biz_id: []}",
		"go: noop, records: {csv: x, biz_id: {a: b}}", "go: noop, allow_empty: 1", "go: noop, secrets: TOKEN", "go: noop, check: x", "go: noop, check: []", "run: [x], compensate: [x]", "run: [x], check_after: 0", "run: [x], check: [x], check_first: 1", "run: [x], check: [x], compensate_timeout: 1m", "go: noop, schedule: x", `go: noop, schedule: "* * * *"`, `go: noop, schedule: "* * * * * *"`, "go: noop, schedule_date: today",
		`go: noop, schedule: "0 2 * * *", schedule_date: tomorrow`, `go: noop, schedule: "0 2 * * *", schedule_since: 2026`, "go: noop, needs: a", "go: noop, needs: [{offset: -1d}]",
		"go: noop, needs: [{task: a, offset: 1d}]", "go: noop, needs: [[a]]", "go: noop, on_failure: x", "go: noop, on_success: []", "go: noop, hook_timeout: 1",
		"http: {}", "http: x", "http: {url: 'http://x/', method: post}", "http: {url: 'http://x/', json: 1, body: x}", "http: {url: 'http://x/', tls: x}", "http: {url: 'http://x/', headers: [a]}",
		"run: [x], check: {http: {}}", "go: noop, records: {http: x}", "go: noop, records: {http: {}}", "go: noop, records: {http: {url: 'http://x/', method: POST}}",
		"sql: x", "sql: {}", "sql: {statement: DELETE FROM a}", "sql: {database: 'sqlite:x.db'}", "sql: {database: 'sqlite:x.db', statements: []}", "sql: {database: 'sqlite:x.db', statement: DELETE FROM a, batch: 0}",
		"sql: {database: 'sqlite:x.db', statement: DELETE FROM a, guard: maybe}", "sql: {database: 'sqlite:x.db', statement: DELETE FROM a, on_no_rows: x}", "sql: {database: 'sqlite:x.db', statement: [a]}",
		"go: noop, records: {sql: {database: 'sqlite:x.db'}}", "go: noop, records: {sql: {query: SELECT 1}}", "run: [x], check: {sql: {query: SELECT 1}}",
	} {
		refused(t, s, "tasks: {a: {"+task+"}}")
	}
}

func refused(t *testing.T, s *jsonschema.Schema, text string) {
	t.Helper()
	if _, err := load(t, text); err == nil {
		t.Errorf("loaded: %s", text)
	}
	if err := s.Validate(plain(t, text)); err == nil {
		t.Errorf("valid by the schema: %s", text)
	}
}

// The keys are those of the Go types, in the schema, in the example and in
// the documentation; and each has a meaning.
func TestKeysAreTheSameEverywhere(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s, properties map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	properties = s["properties"].(map[string]any)
	task := func(path string) map[string]any {
		v := any(properties)
		for _, p := range strings.Fields("tasks additionalProperties properties " + path) {
			if list, ok := v.([]any); ok { // a section is the last alternative
				v = list[len(list)-1]
			}
			v = v.(map[string]any)[p]
		}
		return v.(map[string]any)
	}
	used := keysIn(plain(t, example))
	for i, in := range []map[string]any{
		properties, task(""), task("check anyOf properties"), task("needs items anyOf properties"),
		task("sql properties"), task("check anyOf properties sql properties"), task("records properties sql properties"),
		task("records properties"),
		task("http properties"), task("http properties tls properties"), task("records properties http properties"), task("retry properties"), task("exit_codes properties"),
	} {
		var got, want []string
		for k, v := range in {
			got = append(got, k)
			if v.(map[string]any)["description"] == nil {
				t.Errorf("%s has no description", k)
			}
		}
		for _, k := range keysOf(sections[i].value) {
			want = append(want, k.name)
			if !slices.Contains(used, k.name) {
				t.Errorf("the example lacks %s", k.name)
			}
			if !strings.Contains(Reference(), "| `"+k.name+"` | "+k.typeWords()) || k.meaning == "" {
				t.Errorf("the documentation lacks %s", k.name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", sections[i].title, d)
		}
	}
}

func keysIn(v any) (keys []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, v := range v {
			keys = append(append(keys, k), keysIn(v)...)
		}
	case []any:
		for _, v := range v {
			keys = append(keys, keysIn(v)...)
		}
	}
	return keys
}

func TestPatternsTakeWhatTheDecoderTakes(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[0-9]{0,3}(\.[0-9]{0,2})?(%|/|)(s|m|h|ms|us|)`), rapid.StringMatching(`[+0-9a-zµ./%]{0,6}`),
		rapid.StringMatching(`([0-9]{1,2}(ns|h|m|s|ms)){1,3}`))
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		_, rateErr := ParseRate(s)
		_, toleranceErr := ParseTolerance(s)
		for pattern, err := range map[string]error{durationPattern: new(Duration).UnmarshalText([]byte(s)), ratePattern: rateErr, tolerancePattern: toleranceErr} {
			if regexp.MustCompile(pattern).MatchString(s) != (err == nil) {
				t.Fatalf("%q: %s, %v", s, pattern, err)
			}
		}
	})
}

func TestDocumentationIsThatOfTheTypes(t *testing.T) {
	path := filepath.Join("..", "docs", "configuration.md")
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Reference(), string(got)); d != "" {
		t.Errorf("make it anew with UPDATE=1 go test ./tasks: %s", d)
	}
}
