//go:build linux

package watchdog

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary plays three parts: the watchdog, a runner that starts one
// and says what it is told to, and an action.
func TestMain(m *testing.M) {
	switch os.Getenv("WATCHDOG_TEST") {
	case "dog":
		if Serve(os.Stdin, os.Stderr) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "runner":
		playRunner()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// playRunner reads commands on stdin: start NAME, quiet NAME, begin NAME, end
// NAME, deadline DURATION, quit. It answers each with a line.
func playRunner() {
	os.Setenv("WATCHDOG_TEST", "dog")
	dog, err := Start("/proc/self/exe", []string{"dog"}, Now().Add(time.Hour))
	if err != nil {
		panic(err)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		verb, name, _ := strings.Cut(in.Text(), " ")
		answer := "ok"
		switch verb {
		case "start", "quiet": // an action in a group of its own; quiet: without a word to the watchdog
			c := exec.Command("sleep", "1000")
			c.Env = []string{attemptVar + name}
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			_ = dog.Begin(name)
			if err := c.Start(); err != nil {
				panic(err)
			}
			if verb == "start" {
				_ = dog.Group(name, c.Process.Pid)
			}
			go func() { _ = c.Wait() }() // until it is killed
			answer = strconv.Itoa(c.Process.Pid)
		case "begin":
			_ = dog.Begin(name)
		case "end":
			_ = dog.End(name)
		case "deadline":
			d, _ := time.ParseDuration(name)
			_ = dog.Deadline(Now().Add(d))
		case "quit":
			dog.Close()
			fmt.Println("left")
			return
		}
		fmt.Println(answer)
	}
}

type play struct {
	t   *testing.T
	c   *exec.Cmd
	in  *os.File
	out *bufio.Scanner
}

func newPlay(t *testing.T) *play {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "WATCHDOG_TEST=runner")
	c.Stdin, c.Stderr = r, os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	p := &play{t, c, w, bufio.NewScanner(out)}
	t.Cleanup(func() {
		w.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return p
}

func (p *play) do(command string) string {
	p.t.Helper()
	fmt.Fprintln(p.in, command)
	if !p.out.Scan() {
		p.t.Fatalf("%s: no answer", command)
	}
	return p.out.Text()
}

// action starts one, and ends what the test leaves of it.
func (p *play) action(command string) int {
	pid, err := strconv.Atoi(p.do(command))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { kill(pid, syscall.SIGKILL) })
	return pid
}

// ends waits until a process has ended.
func ends(t *testing.T, pid int) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); alive(pid); {
		if time.Now().After(limit) {
			t.Fatalf("group %d is alive", pid)
		}
		poll()
	}
}

func poll() { <-time.After(5 * time.Millisecond) }

func (p *play) signal(s syscall.Signal) {
	if err := p.c.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func TestWhatAKilledRunnerLeavesIsEnded(t *testing.T) {
	p := newPlay(t)
	told, quiet := p.action("start a"), p.action("quiet b")
	p.signal(syscall.SIGKILL)
	ends(t, told)
	ends(t, quiet)
}

// Case 57: a node that is cut off goes on while others take over.
func TestWhatAStoppedRunnerLeavesIsEndedAtTheDeadline(t *testing.T) {
	p := newPlay(t)
	pid := p.action("start a")
	p.do("deadline 300ms")
	p.signal(syscall.SIGSTOP)
	ends(t, pid)
	p.signal(syscall.SIGCONT)
	if got := p.do("end a"); got != "ok" {
		t.Errorf("the runner says %q", got) // it lives: what it knows can be told
	}
	late := p.action("start c") // as one that had looked at its lease before it was stopped
	ends(t, late)
}

func TestARunnerThatActsItselfIsEndedAtTheDeadline(t *testing.T) {
	for _, begin := range []string{"begin a", "quiet a"} {
		p := newPlay(t)
		p.do(begin)
		p.do("deadline 300ms")
		err := p.c.Wait()
		if ws, ok := p.c.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
			t.Errorf("%s: the runner ended with %v", begin, err)
		}
	}
}

func TestNothingIsEndedBeforeTheDeadlineOrAfterTheRun(t *testing.T) {
	p := newPlay(t)
	over, running := p.action("start a"), p.action("start b")
	p.do("end a")
	p.do("deadline 1h")
	if got := p.do("quit"); got != "left" {
		t.Errorf("got %q", got)
	}
	for _, pid := range []int{over, running} {
		if !alive(pid) {
			t.Errorf("group %d was ended", pid)
		}
	}
}

func TestMessagesOfNobodyAreRefused(t *testing.T) {
	for _, line := range []string{"", "x", "b", "b a b", "g a", "g a x", "g a 1", "g a 0", "g a -5", "d 1", "d a b", "q q"} {
		if _, err := decode(line); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}
