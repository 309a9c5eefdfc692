//go:build unix

package tasks

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"runner/ledger"
	"runner/runner"
)

// fifo makes a FIFO, by which a helper says that it is ready.
func fifo(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// await waits for the helper at the other end of a FIFO, and gives its pid.
func await(t testing.TB, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := io.ReadAll(f) // to the end, so that the next await meets the next writer
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// running is an attempt that is under way.
type running struct {
	cancel context.CancelCauseFunc
	kill   chan struct{}
	result chan runner.Result
}

func start(ctx context.Context, t testing.TB, a *commandAction) running {
	t.Helper()
	ctx, cancel := context.WithCancelCause(ctx)
	t.Cleanup(func() { cancel(nil) })
	r := running{cancel: cancel, kill: make(chan struct{}), result: make(chan runner.Result, 1)}
	at := attempt()
	at.Kill = r.kill
	go func() { r.result <- a.Act(ctx, at) }()
	return r
}

// lives tells whether a process is there and no zombie.
func lives(pid int) bool {
	state := stateOf(pid)
	return state != "" && state != "Z"
}

// stateOf asks ps, which is everywhere.
func stateOf(pid int) string {
	out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if s := strings.TrimSpace(string(out)); s != "" {
		return s[:1]
	}
	return ""
}

func awaitZombie(t *testing.T, pid int) {
	for deadline := time.Now().Add(10 * time.Second); stateOf(pid) != "Z"; {
		if time.Now().After(deadline) {
			t.Fatal("it never ends")
		}
	}
}

func TestInterruptedCommandIsJudged(t *testing.T) {
	for _, c := range []struct {
		reply   string
		outcome ledger.Outcome
		message string
	}{
		{"0", ledger.Unknown, "exit status 0 after it was told to end: hanging"},
		{"10", ledger.Unknown, "exit status 10 after it was told to end: hanging"},
		{"143", ledger.Unknown, "exit status 143 after it was told to end: hanging"},
		{"default", ledger.Unknown, "killed by signal: terminated: hanging"},
		{"137", ledger.FailedAttempt, "exit status 137: hanging"}, // nobody sent KILL
		{"3", ledger.FailedAttempt, "exit status 3: hanging"},
		{"20", ledger.FailedForGood, "exit status 20: hanging"},
	} {
		t.Run(c.reply, func(t *testing.T) {
			path := fifo(t)
			a := helperAction(t, "hang", path, c.reply)
			a.spec.Noop, a.spec.Permanent = []int{10}, []int{20}
			r := start(context.Background(), t, a)
			await(t, path)
			r.cancel(runner.ErrInterrupted)
			wantOutcome(t, <-r.result, c.outcome, c.message)
		})
	}
}

// Case 44, the part of the action: a timeout is no failure.
func TestTimeoutIsUnknownWhateverTheExit(t *testing.T) {
	for _, reply := range []string{"0", "3", "143", "default"} {
		t.Run(reply, func(t *testing.T) {
			path := fifo(t)
			r := start(context.Background(), t, helperAction(t, "hang", path, reply))
			await(t, path)
			r.cancel(runner.ErrTimeout)
			got := <-r.result
			if got.Outcome != ledger.Unknown || !strings.HasPrefix(got.Error, "timeout after ") || !strings.HasSuffix(got.Error, ": hanging") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTimeoutNamesTheLimit(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, runner.ErrTimeout)
	defer cancel()
	dir := t.TempDir()
	a := newAction(t, commandSpec{Script: "exec sleep 1000", Base: dir, Dir: dir})
	at := attempt()
	at.Timeout = 300 * time.Millisecond
	wantOutcome(t, a.Act(ctx, at), ledger.Unknown, "timeout after 300ms")
}

func TestEndBeforeTheSignalCountsAsUnsignalled(t *testing.T) {
	dir := t.TempDir()
	a := newAction(t, commandSpec{Script: "exit 0", Base: dir, Dir: dir})
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	at := attempt()
	at.Started = func(pid int) {
		awaitZombie(t, pid)
		cancel(runner.ErrInterrupted)
	}
	wantOutcome(t, a.Act(ctx, at), ledger.Succeeded, "")
}

func TestTERMThatIsIgnoredIsFollowedByKILL(t *testing.T) {
	path := fifo(t)
	a := helperAction(t, "hang", path, "never")
	a.killAfter = 50 * time.Millisecond
	r := start(context.Background(), t, a)
	pid := await(t, path)
	r.cancel(runner.ErrInterrupted)
	wantOutcome(t, <-r.result, ledger.Unknown, "killed by signal: killed: hanging")
	if lives(pid) {
		t.Errorf("%d is alive", pid)
	}
}

func TestClosedKillEndsAtOnce(t *testing.T) {
	for name, early := range map[string]bool{"before the end of the context": true, "after TERM": false} {
		t.Run(name, func(t *testing.T) {
			path := fifo(t)
			a := helperAction(t, "hang", path, "never")
			a.killAfter = time.Hour
			r := start(context.Background(), t, a)
			await(t, path)
			if early {
				close(r.kill)
				r.cancel(runner.ErrInterrupted)
			} else {
				r.cancel(runner.ErrInterrupted)
				await(t, path) // TERM has come
				close(r.kill)
			}
			wantOutcome(t, <-r.result, ledger.Unknown, "killed by signal: killed: hanging")
		})
	}
}

// leave starts a command that leaves a process behind, and waits until that
// is ready.
func leave(t *testing.T, code, reply string, killAfter time.Duration) (running, int, string) {
	t.Helper()
	path := fifo(t)
	gate := path + ".go"
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	a := helperAction(t, "leave", code, path, reply)
	a.killAfter, a.spec.KeepOutput = killAfter, keepAll
	r := start(context.Background(), t, a)
	pid := await(t, path)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return r, pid, gate
}

func open(t *testing.T, gate string) {
	t.Helper()
	f, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestLeftoversOfASuccessAreLeftAlone(t *testing.T) {
	r, pid, gate := leave(t, "0", "never", time.Hour)
	open(t, gate)
	got := <-r.result // though the outputs are held open
	wantOutcome(t, got, ledger.Succeeded, "")
	if got.Output != "hanging\n" {
		t.Errorf("output %q", got.Output)
	}
	if !lives(pid) {
		t.Error("the daemon was ended")
	}
}

// Case 40: stop kills sh, the program it started goes on.
func TestLeftoversOfAFailureAreEnded(t *testing.T) {
	for _, reply := range []string{"default", "never"} {
		t.Run(reply, func(t *testing.T) {
			r, pid, gate := leave(t, "3", reply, 50*time.Millisecond)
			open(t, gate)
			wantOutcome(t, <-r.result, ledger.FailedAttempt, "exit status 3: hanging")
			if lives(pid) {
				t.Errorf("%d is alive", pid)
			}
		})
	}
}

func TestTheWholeGroupIsEnded(t *testing.T) {
	r, pid, _ := leave(t, "0", "default", time.Hour)
	r.cancel(runner.ErrTimeout)
	if got := <-r.result; got.Outcome != ledger.Unknown {
		t.Errorf("got %+v", got)
	}
	if lives(pid) {
		t.Errorf("%d is alive", pid)
	}
}
