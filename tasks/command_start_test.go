//go:build unix

package tasks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"runner/ledger"
	"runner/runner"
)

func TestRecordsThatCannotBePassedFailForGood(t *testing.T) {
	at := attempt()
	at.Fields = map[string]string{"big": strings.Repeat("x", 4<<20)}
	wantOutcome(t, helperAction(t, "show").Act(context.Background(), at), ledger.FailedForGood, "argument list too long")
	at.Fields = map[string]string{"nul": "\x00"}
	wantOutcome(t, helperAction(t, "show").Act(context.Background(), at), ledger.FailedForGood, "an argument or a field holds a NUL byte")
}

// Case 25, second half: vanished in the middle.
func TestVanishedProgramHalts(t *testing.T) {
	dir := t.TempDir()
	interpreter := filepath.Join(dir, "interpreter")
	for name, vanish := range map[string]func(path string) error{
		"not found":         os.Remove,
		"is not executable": func(path string) error { return os.Chmod(path, 0o644) },
		"no program":        func(path string) error { return os.WriteFile(path, []byte("echo hi\n"), 0o755) },
		"interpreter " + interpreter + " does not exist": func(string) error { return os.Remove(interpreter) },
	} {
		program(t, dir, "interpreter")
		path := program(t, dir, "job")
		if strings.HasPrefix(name, "interpreter") {
			path = script(t, dir, "job", "#!"+interpreter+"\n")
		}
		a := newAction(t, commandSpec{Argv: []string{path}, Base: dir, Dir: dir})
		if err := a.Prepare(); err != nil {
			t.Fatal(err)
		}
		if err := vanish(path); err != nil {
			t.Fatal(err)
		}
		r := act(t, a)
		if r.Outcome != ledger.NotStarted || !r.Halt || !strings.Contains(r.Error, name) {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	gone := mkdir(t, dir, "work")
	a := newAction(t, commandSpec{Argv: []string{"true"}, Base: dir, Dir: gone})
	if err := a.Prepare(); err != nil {
		t.Fatal(err)
	}
	os.Remove(gone)
	if r := act(t, a); !r.Halt || !strings.Contains(r.Error, "the folder "+gone) {
		t.Errorf("got %+v", r)
	}
}

// Case 51: a daemon inherits a lock.
func TestNothingIsInheritedButTheStandardFiles(t *testing.T) {
	f, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd())) // without close-on-exec, as from a careless parent
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	a := helperAction(t, "fds")
	a.spec.KeepOutput = keepAll
	if r := act(t, a); r.Output != "0 1 2 " {
		t.Errorf("inherited: %s", r.Output)
	}
}

func TestStartedTellsThePidOfItsGroup(t *testing.T) {
	dir := t.TempDir()
	a := newAction(t, commandSpec{Script: `echo $$`, Base: dir, Dir: dir, KeepOutput: keepAll})
	at := attempt()
	var pid int
	at.Started = func(p int) { pid = p }
	if r := a.Act(context.Background(), at); r.Output != fmt.Sprintln(pid) {
		t.Errorf("told %d, is %s", pid, r.Output)
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(runner.ErrInterrupted)
	r := helperAction(t, "show").Act(ctx, attempt())
	wantOutcome(t, r, ledger.NotStarted, "interrupted")
}
