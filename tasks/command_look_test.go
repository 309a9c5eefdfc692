//go:build unix

package tasks

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runner/ledger"
)

// program makes a script that succeeds.
func program(t testing.TB, dir, name string) string {
	t.Helper()
	return script(t, dir, name, "#!/bin/sh\nexit 0\n")
}

func script(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := write(t, dir, name, text)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Case 24: works by hand, fails under cron.
func TestProgramsAreLookedUpBesideTheConfigurationThenInPATH(t *testing.T) {
	base, bin := t.TempDir(), t.TempDir()
	program(t, base, "both")
	program(t, bin, "both")
	program(t, bin, "only")
	mkdir(t, base, "only") // a folder of that name
	program(t, mkdir(t, base, "sub"), "job")
	write(t, base, "data", "")
	env := []string{"PATH=" + bin}
	for _, c := range []struct {
		name, want string
		beside     bool
	}{
		{"both", base + "/both", true},
		{"both", bin + "/both", false},
		{"only", bin + "/only", true},
		{"./both", base + "/both", false},
		{"sub/job", base + "/sub/job", false},
		{bin + "/only", bin + "/only", false},
	} {
		got, err := lookup{base: base, beside: c.beside, environ: env}.find(c.name)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	script(t, base, "crlf.sh", "#!/bin/sh\r\n")
	script(t, base, "lost.sh", "#!/no/such/interpreter -x\n")
	for name, want := range map[string]string{
		"none":      "none: not found in " + base + " and in PATH=" + bin,
		"data":      base + "/data: is not executable",
		"./none":    "./none: not found (looked up in " + base,
		"./only":    "./only: is a folder",
		"./data":    "./data: is not executable",
		"./crlf.sh": "ends in CR LF",
		"lost.sh":   "its interpreter /no/such/interpreter does not exist",
	} {
		if _, err := (lookup{base: base, beside: true, environ: env}).find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want …%s…", name, err, want)
		}
	}
}

func TestWithoutPATHTheUsualFoldersAreSearched(t *testing.T) {
	got, err := lookup{base: "/"}.find("sh")
	if err != nil || !filepath.IsAbs(got) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := (lookup{base: "/"}).find("no-such-program"); err == nil || !strings.Contains(err.Error(), defaultPath+" (PATH is not set)") {
		t.Errorf("got %v", err)
	}
}

// Case 25, first half: a missing command is found before the plan.
func TestMissingCommandIsFoundByPrepare(t *testing.T) {
	c := mustLoad(t, `
tasks:
  missing: {run: [no-such-program, x]}
  nodir: {run: ["true"], dir: none}
  path: {run: [tool], env: {PATH: /no/such/folder}}
`)
	for i, want := range []string{"no-such-program: not found in " + c.Dir + " and in PATH=", "the folder " + c.Dir + "/none", "PATH=/no/such/folder"} {
		task, err := c.Tasks[i].Build(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Action.Prepare(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want …%s…", err, want)
		}
		if r := act(t, task.Action.(*commandAction)); r.Outcome != ledger.NotStarted || !r.Halt {
			t.Errorf("got %+v", r)
		}
	}
	var h *HintError
	if task, _ := c.Tasks[0].Build(1); !errors.As(task.Action.Prepare(), &h) || h.Hint == "" {
		t.Error("no hint")
	}
}

func TestWorksInAnEmptyEnvironmentInTheRoot(t *testing.T) {
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		t.Setenv(name, "") // is put back afterwards
		os.Unsetenv(name)
	}
	t.Chdir("/")
	dir := t.TempDir()
	program(t, dir, "job")
	c, err := Load(write(t, dir, "runner.yaml", "tasks: {a: {run: [job]}, b: {shell: 'ls / >/dev/null'}}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range c.Tasks {
		built, err := task.Build(1)
		if err != nil {
			t.Fatal(err)
		}
		a := built.Action.(*commandAction)
		wantOutcome(t, act(t, a), ledger.Succeeded, "")
		a.Close()
	}
}
