package tasks

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

func hookOf(t testing.TB, script string) *Hook {
	t.Helper()
	dir := t.TempDir()
	c, err := Load(write(t, dir, "runner.yaml", "tasks: {a: {go: noop, on_success: [sh, hook.sh]}}"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "hook.sh", script)
	if c.Tasks[0].Hook(false) != nil {
		t.Fatal("there is a hook for a failure")
	}
	return c.Tasks[0].Hook(true)
}

func TestAHookNeedNotReadWhatItIsTold(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 1<<20) // more than a pipe holds
	for name, script := range map[string]string{
		"reads all":                            "cat >all",
		"reads nothing":                        "exit 0",
		"reads the beginning":                  "head -c 10 >/dev/null",
		"closes it":                            "exec <&-",
		"prints more than is kept, and leaves": "head -c 3000000 /dev/zero; cat >/dev/null",
	} {
		h := hookOf(t, script)
		if err := h.Run(context.Background(), HookCall{Task: "a", Summary: long}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(filepath.Join(h.dir, "all")); err == nil && len(got) != len(long) {
			t.Errorf("%s: it read %d bytes", name, len(got))
		}
	}
}

// A hook may start something that goes on, and that has all its files open.
func TestAHookIsOverWhenItsProcessIs(t *testing.T) {
	h := hookOf(t, "exec 3<&0\nsh -c 'until [ -e over ]; do sleep 0.01; done; touch gone' <&3 &\n")
	long := bytes.Repeat([]byte("x"), 1<<20)
	err := h.Run(context.Background(), HookCall{Task: "a", Summary: long})
	write(t, h.dir, "over", "")
	if err != nil {
		t.Error(err)
	}
	for { // so that it doesn't outlive its folder
		if _, err := os.Stat(filepath.Join(h.dir, "gone")); err == nil {
			return
		}
	}
}
