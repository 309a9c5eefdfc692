package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"runner/cmd"
	"runner/internal/dbtest"
	"runner/ledger"
	"runner/ledger/sqlite"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"runner": func() { os.Exit(cmd.Main()) },
	})
}

// TestScripts runs the program as its users do: one script a behaviour.
func TestScripts(t *testing.T) { testscript.Run(t, scripts(nil)) }

// TestScriptsOnPostgres runs the same scripts on ledgers in PostgreSQL, but for
// those that are about the file of a ledger, which skip themselves.
func TestScriptsOnPostgres(t *testing.T) {
	dbtest.SharedPostgres(t)
	testscript.Run(t, scripts(func(e *testscript.Env) {
		e.Setenv("RUNNER_LEDGER", dbtest.Postgres(e.T().(testing.TB)))
	}))
}

func scripts(postgres func(*testscript.Env)) testscript.Params {
	return testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TZ", "UTC")
			e.Setenv("NO_COLOR", "1")
			if postgres != nil {
				postgres(e)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "postgres" {
				return false, fmt.Errorf("unknown condition %s", cond)
			}
			return postgres != nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode,
			"json":     jsonValue,
			"jsonl":    jsonLines,
			"effects":  effects,
			"shop":     shop,
			"mode":     fileMode,
			"snapshot": snapshot,
		},
	}
}

// exitcode N command args…: the command ends with exactly that code.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N command [args…]")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// snapshot LEDGER TIME: in the background, a reader holds a snapshot of a
// ledger for that long.
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: snapshot LEDGER TIME")
	}
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	s, err := sqlite.Open(context.Background(), ts.MkAbs(args[0]), sqlite.Options{ReadOnly: true})
	ts.Check(err)
	began, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.View(context.Background(), func(r ledger.Reader) error {
			before, err := r.Batches("", "")
			close(began)
			if err != nil {
				return err
			}
			<-time.After(d)
			after, err := r.Batches("", "")
			if err == nil && fmt.Sprint(before) != fmt.Sprint(after) {
				err = errors.New("the snapshot has changed")
			}
			return err
		})
	}()
	<-began
	ts.Defer(func() {
		ts.Check(<-done)
		ts.Check(s.Close())
	})
}

// json FILE [path value]…: the file, or stdout or stderr, is one valid JSON
// text, and has these values. A path is .name and [i], [-1] is the last and
// [len] the length; a value is a string's text, else JSON. With ! no path has
// its value.
func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || len(args)%2 == 0 {
		ts.Fatalf("usage: json FILE [path value]…")
	}
	v, err := strictJSON([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	comparePaths(ts, neg, v, args[1:])
}

// jsonl FILE [N] [path value]…: each line is one valid JSON text; there are N
// of them, and all have these values.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: jsonl FILE [N] [path value]…")
	}
	text, paths := ts.ReadFile(args[0]), args[1:]
	if len(paths)%2 == 1 {
		if got := strings.Count(text, "\n"); strconv.Itoa(got) != paths[0] {
			ts.Fatalf("%d lines, want %s", got, paths[0])
		}
		paths = paths[1:]
	}
	for line := range strings.Lines(text) {
		v, err := strictJSON([]byte(line))
		ts.Check(err)
		comparePaths(ts, neg, v, paths)
	}
}

func comparePaths(ts *testscript.TestScript, neg bool, v any, pairs []string) {
	for i := 0; i < len(pairs); i += 2 {
		got, err := jsonAt(v, pairs[i])
		ts.Check(err)
		if (got == pairs[i+1]) == neg {
			ts.Fatalf("%s is %s (want %s, negated: %v)", pairs[i], got, pairs[i+1], neg)
		}
	}
}

// strictJSON takes one JSON text without anything after it and without
// repeated names.
func strictJSON(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := noRepeats(dec); err != nil {
		return nil, fmt.Errorf("invalid JSON: %w in %q", err, b)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON text in %q", b)
	}
	var v any
	dec = json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// noRepeats reads one value.
func noRepeats(dec *json.Decoder) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[any]bool{}
	for dec.More() {
		if open == '{' {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			if seen[name] {
				return fmt.Errorf("name %q is repeated", name)
			}
			seen[name] = true
		}
		if err := noRepeats(dec); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

var jsonStep = regexp.MustCompile(`^(?:\.([^.\[\]]+)|\[(-?\d+|len)\])`)

func jsonAt(v any, path string) (string, error) {
	for rest := path; rest != "" && rest != "."; {
		m := jsonStep.FindStringSubmatch(rest)
		if m == nil {
			return "", fmt.Errorf("path %q: can't read %q", path, rest)
		}
		rest = rest[len(m[0]):]
		var ok bool
		if v, ok = jsonInto(v, m[1], m[2]); !ok {
			return "", fmt.Errorf("path %q: there is nothing at %s", path, m[0])
		}
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func jsonInto(v any, name, index string) (any, bool) {
	if name != "" {
		o, _ := v.(map[string]any)
		v, ok := o[name]
		return v, ok
	}
	list, ok := v.([]any)
	if index == "len" {
		return json.Number(strconv.Itoa(len(list))), ok
	}
	i, _ := strconv.Atoi(index)
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil, false
	}
	return list[i], true
}

// effects FILE N: the file has N lines, and no line twice. A file that isn't
// there has none.
func effects(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: effects FILE N")
	}
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	if !errors.Is(err, fs.ErrNotExist) {
		ts.Check(err)
	}
	seen := map[string]int{}
	total := 0
	for line := range strings.Lines(string(b)) {
		total++
		if seen[line]++; seen[line] == 2 {
			ts.Logf("repeated: %s", strings.TrimSpace(line))
		}
	}
	if strconv.Itoa(total) != args[1] || len(seen) != total {
		ts.Fatalf("%s: %d lines, %d of them distinct, want %s", args[0], total, len(seen), args[1])
	}
}

// mode FILE 0600: the file has these permissions.
func fileMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode FILE 0600")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}
