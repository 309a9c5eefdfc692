//go:build unix

package tasks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runner/runner"
)

// commandSource is the source of a task whose records are those of a script.
func commandSource(t *testing.T, script, more string) (s runner.Source, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, dir, "list.sh", "#!/bin/sh\n"+script)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Load(write(t, dir, "runner.yaml", "tasks: {a: {run: [sh], env: {TOKEN: s3cr3t-token}, secrets: [TOKEN], records: {command: [list.sh, '{{.execute_date}}', x]"+more+"}}}"))
	if err != nil {
		t.Fatal(err)
	}
	if s, err = c.Tasks[0].Source("2026-11-29", strings.NewReader("of runner")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, dir
}

func TestOutputOfACommandIsReadTwiceAndMadeOnce(t *testing.T) {
	t.Setenv("RUNNER_BIZ_ID", "of an outer runner")
	s, dir := commandSource(t, `echo once >> ran; pwd; echo "$1 $2 $TOKEN$RUNNER_BIZ_ID"; cat; echo noise >&2; printf last`, "")
	for range 2 {
		items, err := all(s)
		want := []string{"1:" + dir, "2:2026-11-29 x s3cr3t-token", "3:last"}
		if d := cmp.Diff(want, show(items)); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	if ran, err := os.ReadFile(filepath.Join(dir, "ran")); string(ran) != "once\n" || err != nil {
		t.Errorf("it ran: %q, %v", ran, err)
	}
}

func TestCommandsPrintEachFormat(t *testing.T) {
	for more, c := range map[string]struct{ script, want string }{
		", format: csv, biz_id: [a, b]":   {"echo a,b; echo 1:2,3", `2:1\:2:3 {"a":"1:2","b":"3"}`},
		", format: jsonl, biz_id: [b, a]": {`echo '{"a": 1.0, "b": "x"}'`, `1:x:1.0 {"a":1.0,"b":"x"}`},
		", format: lines":                 {"echo a,b", "1:a,b"},
	} {
		s, _ := commandSource(t, c.script, more)
		items, err := all(s)
		if d := cmp.Diff([]string{c.want}, show(items)); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	s, _ := commandSource(t, `echo '{"biz_id": "a"}'; echo oops`, ", format: jsonl")
	_, err := all(s)
	if err == nil || err.Error() != "output of list.sh:2:1: the line is no JSON object" {
		t.Errorf("got %v", err)
	}
}

// Case 15: a failing command fails the plan, even after its last line.
func TestFailingCommandHasNoRecords(t *testing.T) {
	for script, want := range map[string]string{
		"echo a; echo b; exit 3": "exit status 3",
		"exit 1":                 "exit status 1",
		"echo a; echo why not s3cr3t-token >&2; exit 4":    "exit status 4: why not ***",
		"echo a; kill -KILL $$":                            "killed by signal: killed",
		"echo a; kill -TERM $$":                            "killed by signal: terminated",
		"for i in 1 2 3 4 5; do echo $i >&2; done; exit 9": "exit status 9: 3\n4\n5",
	} {
		s, _ := commandSource(t, script, "")
		for range 2 {
			items, err := all(s)
			if len(items) > 0 || err == nil || err.Error() != "output of list.sh: "+want {
				t.Errorf("%s: %v, %v", script, show(items), err)
			}
		}
	}
}

func TestCommandThatCannotBeStartedHasNoRecords(t *testing.T) {
	s, dir := commandSource(t, "echo a", "")
	if err := os.Remove(filepath.Join(dir, "list.sh")); err != nil {
		t.Fatal(err)
	}
	_, err := all(s)
	var pe *runner.PlaceError
	if !errors.As(err, &pe) || !strings.Contains(pe.Msg, "it can't be run: ") {
		t.Errorf("got %v", err)
	}
	c := mustLoad(t, "tasks: {a: {go: noop, records: {command: [no-such-program-anywhere]}}}")
	var h *HintError
	if _, err := c.Tasks[0].Source("2026-11-29", nil); !errors.As(err, &h) || !strings.Contains(h.Msg, "no-such-program-anywhere: not found") {
		t.Errorf("got %v", err)
	}
}

func TestCommandThatLeavesAWriterBehindFails(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	script := fmt.Sprintf("mkfifo %[1]s; { read x < %[1]s; } & echo a", fifo)
	c := sourceCommand{program: "/bin/sh", argv: []string{"sh", "-c", script}, dir: dir, environ: os.Environ(), wait: time.Millisecond}
	in := c.input()
	_, err := in.read(nil)
	if err == nil || err.Error() != "output of sh: it ended, but left a process behind that holds its output open" {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil { // ends what is left
		t.Error(err)
	}
	in.Close()
}

func TestCloseEndsACommandThatRuns(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := commandSource(t, fmt.Sprintf("echo a; echo up > %[1]s; read never < %[1]s", fifo), "")
	ended := make(chan error)
	go func() {
		_, err := all(s)
		ended <- err
	}()
	if _, err := os.ReadFile(fifo); err != nil { // comes when the command runs
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "killed by signal: terminated") {
		t.Errorf("got %v", err)
	}
}

func TestFloodOfACommandIsSpooled(t *testing.T) {
	s, _ := commandSource(t, `i=0; while [ $i -lt 200000 ]; do echo $i; i=$((i+1)); done; echo "$i" >&2`, "")
	for range 2 {
		n := 0
		for item, err := range s.Records() {
			if err != nil || item.BizID != fmt.Sprint(n) {
				t.Fatalf("record %d: %+v, %v", n, item, err)
			}
			n++
		}
		if n != 200_000 {
			t.Errorf("%d records", n)
		}
	}
}
