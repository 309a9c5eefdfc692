//go:build linux

package crash

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// summary is what of a run's JSON the cases look at.
type summary struct {
	RunID    string `json:"run_id"`
	Result   string
	Executed int
	HeldBy   []string `json:"held_by"`
	Counts   map[string]int
}

func (p *proc) summary() (s summary) {
	p.b.t.Helper()
	if err := json.Unmarshal([]byte(p.stdout()), &s); err != nil {
		p.b.t.Fatalf("%v in %q\n%s", err, p.stdout(), p.stderr())
	}
	return s
}

// now is a run that waits for nobody.
func (b *bed) now(codes ...int) summary {
	b.t.Helper()
	return b.run(codes, "run", task, "--date", date, "-o", "json", "--wait", "0s").summary()
}

// begin starts a run whose actions take a while before and after their effect.
func (b *bed) begin(before, after string, more ...string) *proc {
	return b.beginWith([]string{"BEFORE=" + before, "AFTER=" + after}, more...)
}

func (b *bed) beginWith(env []string, more ...string) *proc {
	args := append([]string{"run", task, "--date", date, "-j", "2"}, more...)
	return b.start(nil, env, args...)
}

// beginAtGate starts a run whose actions wait before their effect until the gate
// is opened.
func (b *bed) beginAtGate(more ...string) (p *proc, open func()) {
	b.t.Helper()
	env, open := b.gate()
	return b.beginWith(env, more...), open
}

// gate lets the actions wait that are started with env, until it is opened.
func (b *bed) gate() (env []string, open func()) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "gate") // not in the bed, which is copied
	b.must(syscall.Mkfifo(path, 0o600))
	open = sync.OnceFunc(func() {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		b.must(err)
		b.t.Cleanup(func() { _ = f.Close() }) // who comes later needs not wait
	})
	b.t.Cleanup(open)
	return []string{"GATE=" + path}, open
}

func TestCase34APlainRunGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	b := newBed(t, 6, "idempotent: true")
	p := b.begin("0.02", "0.1")
	b.upTo("effects", 2)
	p.kill(false)
	b.quiet()
	b.run([]int{0}, "run", task, "--date", date)
	b.verify(idempotent)
}

func TestCase36AKillBetweenTheEffectAndItsRecordIsInDoubt(t *testing.T) {
	for _, m := range []mode{hold, checked} {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			b, code := newBed(t, 1), 3
			if m == checked {
				if !hasCheck(t) {
					t.Skip("this runner takes no check: yet")
				}
				b, code = newBed(t, 1, checkLine), 0
			}
			p := b.begin("", "1.5")
			b.upTo("effects", 1)
			p.kill(false)
			b.quiet()
			if s := b.plain(code).summary(); s.Executed != 0 {
				t.Errorf("%d attempts more", s.Executed)
			}
			b.verify(m)
		})
	}
}

func TestCase37ARunThatIsStoppedIsNotDead(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2)
	p, open := b.beginAtGate()
	b.upTo("started", 2)
	b.must(p.Process.Signal(syscall.SIGSTOP))
	open()
	b.upTo("effects", 2) // its actions end, and it doesn't see it
	if s := b.now(5); s.Result != "busy" || len(s.HeldBy) != 1 || s.Executed != 0 {
		t.Errorf("%+v", s)
	}
	b.run([]int{0}, "recover")
	b.must(p.Process.Signal(syscall.SIGCONT))
	b.expect(p, 0)
	b.plain(0)
	b.verify(hold)
}

func TestCase38ADeadRunsClaimsAreVisibleWork(t *testing.T) {
	for _, overlap := range []string{"join", "skip", "fail"} {
		t.Run(overlap, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, 4)
			p := b.begin("0.02", "1.5")
			b.upTo("effects", 1)
			p.kill(true)
			b.quiet()
			s := b.run([]int{3}, "run", task, "--date", date, "-o", "json", "--overlap", overlap).summary()
			if s.Result != "in_doubt" || s.Counts["done"]+s.Counts["in_doubt"] != 4 {
				t.Errorf("%+v", s)
			}
			b.verify(hold)
		})
	}
}

func TestCase39AnActionThatOutlivesItsRunnerIsReportedAndNotDoubled(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1)
	p := b.begin("3", "")
	b.upTo("started", 1)
	p.kill(true)
	q := b.run([]int{5}, "run", task, "--date", date)
	pid := 0
	for _, pid = range b.processes() {
		if strings.Contains(q.stderr(), fmt.Sprint(pid)) {
			break
		}
		pid = 0
	}
	if pid == 0 {
		t.Errorf("it doesn't name the survivor:\n%s", q.stderr())
	}
	b.quiet()
	b.plain(3)
	b.verify(hold)
}

func TestCase40AStopEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1)
	b.write("act.sh", "echo \"$1 $RUNNER_ATTEMPT_ID\" >>started\nsleep 60 & sh -c 'sleep 61; true' & wait\n")
	p := b.begin("", "")
	b.upTo("started", 1)
	b.must(p.Process.Signal(syscall.SIGTERM))
	b.said(p, "again: end it now") // two at once would be one
	b.must(p.Process.Signal(syscall.SIGTERM))
	b.expect(p, 143)
	b.quietWithin(2 * time.Second)
	b.plain(3)
	b.verify(hold)
}

// said waits until a process has said something on stderr.
func (b *bed) said(p *proc, what string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(p.stderr(), what); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("it never said %q:\n%s", what, p.stderr())
		}
	}
}

// quietWithin is quiet with little patience.
func (b *bed) quietWithin(d time.Duration) {
	b.t.Helper()
	for end := time.Now().Add(d); len(b.processes()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("processes %v are still alive", b.processes())
		}
	}
}

func TestCase43TheFirstSignalDrainsTheSecondEndsTheThirdKills(t *testing.T) {
	for n, act := range []string{
		"sleep 0.3; echo \"$1 x\" >>effects",
		"sleep 60; echo \"$1 x\" >>effects",
		"trap '' TERM; while :; do sleep 1; done",
	} {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, 3)
			b.write("act.sh", "echo \"$1 $RUNNER_ATTEMPT_ID\" >>started\n"+act+"\n")
			p := b.start(nil, nil, "run", task, "--date", date, "-j", "1", "-o", "json")
			b.upTo("started", 1)
			for i := range n + 1 {
				b.must(p.Process.Signal(syscall.SIGINT))
				b.said(p, []string{"again: end it now", "again: kill it", "killing what runs"}[i])
			}
			began := time.Now()
			b.expect(p, 130)
			if d := time.Since(began); d > 3*time.Second {
				t.Errorf("it took %v", d)
			}
			want := map[bool]string{true: "done", false: "in_doubt"}[n == 0]
			if s := p.summary(); s.Counts[want] != 1 || s.Counts["pending"] != 2 {
				t.Errorf("%+v", s)
			}
			b.quietWithin(time.Second)
			b.sound()
		})
	}
}

func TestCase45AnAttemptThatKillsItsRunnerCounts(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1, "idempotent: true", "retry: {attempts: 3, backoff: 1ms}")
	b.write("act.sh", "echo \"$1 $RUNNER_ATTEMPT_ID\" >>started\nkill -9 $PPID\n")
	for range 5 {
		b.start(nil, nil, "run", task, "--date", date).code()
		b.quiet()
	}
	b.run([]int{1, 3}, "run", task, "--date", date)
	if n := len(b.lines("started")); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
	b.sound()
}

func TestCase51ADaemonInheritsNothingAndBlocksNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1)
	b.write("act.sh", "setsid sleep 60 &\necho \"$1 $RUNNER_ATTEMPT_ID\" >>started\necho \"$1 x\" >>effects\n")
	began := time.Now()
	b.run([]int{0}, "run", task, "--date", date)
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("the run took %v: the daemon held its output", d)
	}
	left := b.processes()
	if len(left) != 1 {
		t.Fatalf("processes %v, want the daemon", left)
	}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", left[0]))
	b.must(err)
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); strings.Contains(to, ".runner") {
			t.Errorf("the daemon inherited %s", to)
		}
	}
	if s := b.now(0); s.Result != "complete" {
		t.Errorf("%+v", s)
	}
	b.verify(hold)
}

func TestCase69ARecordThatKillsItsRunnerTakesNoOtherAlong(t *testing.T) {
	t.Parallel()
	b := newBed(t, 120, "idempotent: true", "retry: {attempts: 3, backoff: 1ms}")
	killer := b.ids[50]
	b.write("act.sh", "[ $1 != "+killer+" ] || kill -9 $PPID\n"+act)
	deaths := 0
	for range 5 {
		if b.start(nil, nil, "run", task, "--date", date, "-j", "2").code() == -1 {
			deaths++
		}
		b.quiet()
	}
	if deaths != 3 {
		t.Errorf("%d runs died, want 3: as many as it has attempts", deaths)
	}
	for id, status := range b.statuses() {
		if id != killer && status != done {
			t.Errorf("%s has status %d", id, status)
		}
	}
	b.sound()
}
