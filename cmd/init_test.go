package cmd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runner/tasks"
)

// invoke runs the program in this process.
func (w *world) invoke(args ...string) int {
	w.out.Reset()
	w.err.Reset()
	w.stdout, w.stderr, w.args = &w.out, &w.err, args
	return run(context.Background(), w.env)
}

func TestEverySettingThatInitOffersIsAccepted(t *testing.T) {
	path := filepath.Join(t.TempDir(), configName)
	lines := strings.SplitAfter(starterConfig, "\n")
	tried := 0
	for i, l := range lines {
		if !strings.HasPrefix(strings.TrimSpace(l), "#-") {
			continue
		}
		tried++
		text := strings.Join(lines[:i], "") + strings.Replace(l, "#-", "", 1) + strings.Join(lines[i+1:], "")
		if strings.Contains(l, "#-run:") {
			before, after, _ := strings.Cut(text, "    shell: |\n")
			_, after, _ = strings.Cut(after, "\n")
			text = before + after
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := tasks.Load(path); err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(l), err)
		}
	}
	if tried < 10 {
		t.Errorf("only %d settings were found", tried)
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	for _, name := range []string{configName, starterIDs} {
		dir := t.TempDir()
		t.Chdir(dir)
		if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t)
		if code := w.invoke("init"); code != exitUsage || !strings.Contains(w.err.String(), name+" exists already") {
			t.Errorf("%s: exit %d, %s", name, code, w.err.String())
		}
		found, err := os.ReadDir(dir)
		if text, _ := os.ReadFile(name); err != nil || len(found) != 1 || string(text) != "mine" {
			t.Errorf("%s: %d files, %q", name, len(found), text)
		}
	}
}

func TestWhereConfigurationAndLedgerAreFound(t *testing.T) {
	top := t.TempDir()
	below := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	task := "tasks: {t: {run: [\"true\"]}}\n"
	write(filepath.Join(top, configName), task)
	write(filepath.Join(top, "named.yaml"), "ledger: kept/l.db\n"+task)
	for _, c := range []struct {
		name           string
		config, ledger string
		vars           map[string]string
		want           string
	}{
		{name: "nearest parent", want: filepath.Join(top, ".runner", "ledger.db")},
		{name: "--config", config: "../../named.yaml", want: filepath.Join(top, "kept", "l.db")},
		{name: "$RUNNER_CONFIG", vars: map[string]string{"RUNNER_CONFIG": "../../named.yaml"}, want: filepath.Join(top, "kept", "l.db")},
		{name: "$RUNNER_LEDGER", vars: map[string]string{"RUNNER_LEDGER": "e.db"}, want: filepath.Join(below, "e.db")},
		{name: "--ledger", ledger: "f.db", vars: map[string]string{"RUNNER_LEDGER": "e.db"}, want: filepath.Join(below, "f.db")},
	} {
		w := newWorld(t)
		w.vars = c.vars
		a := newApp(w.env)
		a.flags.config, a.flags.ledger = c.config, c.ledger
		got, err := a.locate(true)
		if err != nil || resolved(got.ledger) != resolved(c.want) {
			t.Errorf("%s: %s, %v; want %s", c.name, got.ledger, err, c.want)
		}
	}
	t.Chdir(t.TempDir())
	wd, _ := os.Getwd()
	a := newApp(newWorld(t).env)
	if got, err := a.locate(false); err != nil || got.ledger != filepath.Join(wd, ".runner", "ledger.db") {
		t.Errorf("without a configuration: %s, %v", got.ledger, err)
	}
	if _, err := a.locate(true); codeOfError(err) != exitUsage || hintOf(err) == "" {
		t.Errorf("without the configuration it needs: %v", err)
	}
}

// resolved resolves links in the folders of a path that need not exist.
func resolved(path string) string {
	for dir, rest := filepath.Dir(path), filepath.Base(path); ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if r, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(r, rest)
		}
	}
}
