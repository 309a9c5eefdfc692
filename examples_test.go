package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each example runs, is killed in the middle, runs again, and gives the
// business result that its expected.txt shows.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs each example for a few seconds")
	}
	bin := t.TempDir()
	for name, pkg := range map[string]string{"runner": ".", "helper": "./testdata/examples/helper"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	scripts, err := filepath.Glob("testdata/examples/*/run.sh")
	if err != nil || len(scripts) < 6 {
		t.Fatalf("%d examples, %v", len(scripts), err)
	}
	for _, script := range scripts {
		dir := filepath.Dir(script)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			expected := filepath.Join(dir, "expected.txt")
			cmd := exec.CommandContext(t.Context(), "sh", script)
			cmd.Env = append(os.Environ(), "EXAMPLE_BIN="+bin, "TZ=UTC")
			cmd.WaitDelay = time.Minute
			var stderr strings.Builder
			cmd.Stderr = &stderr
			got, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, got, stderr.String())
			}
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(expected, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(expected)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("got\n%s\nwant\n%s\nstderr:\n%s", got, want, stderr.String())
			}
			if readme, err := os.ReadFile(filepath.Join(dir, "README.md")); err != nil || !strings.Contains(string(readme), "sh "+script) {
				t.Errorf("its README doesn't name the command sh %s: %v", script, err)
			}
		})
	}
}
