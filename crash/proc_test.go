//go:build linux

package crash

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// proc is a process of the program.
type proc struct {
	*exec.Cmd
	b    *bed
	name string
	done chan struct{} // closed at its end
	err  error
	away bool // it lies in another pid namespace, as the only child of what was started
}

func (p *proc) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// patience is longer than anything here may take.
const patience = 2 * time.Minute

// code waits for the end: the exit code, -1 for a death by signal.
func (p *proc) code() int {
	p.b.t.Helper()
	late := time.After(patience)
	for {
		select {
		case <-p.done:
			return p.ProcessState.ExitCode()
		case <-time.After(50 * time.Millisecond):
			p.wake()
		case <-late:
			p.b.t.Fatalf("%v hangs, kept in %s\n%s", p.Args, p.b.keep(), p.stderr())
		}
	}
}

// pid is that of the program; 0 when it has ended.
func (p *proc) pid() int {
	if !p.away {
		return p.Process.Pid
	}
	for ; !p.ended(); time.Sleep(time.Millisecond) {
		var pid int
		own := p.Process.Pid
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", own, own))
		if n, _ := fmt.Sscan(string(text), &pid); n == 1 {
			return pid
		}
		p.wake()
	}
	return 0
}

// wake lets nsenter go on, which stops with its child, and maybe only after
// that has gone on or died.
func (p *proc) wake() {
	if p.away {
		_ = p.Process.Signal(syscall.SIGCONT) // else it has ended
	}
}

// kill kills the process, or its whole group, and tells whether that hit.
func (p *proc) kill(group bool) bool {
	pid := p.pid()
	if pid == 0 {
		return false
	}
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	return p.code() == -1
}

func (p *proc) text(name string) string {
	text, _ := os.ReadFile(p.b.path(name))
	return string(text)
}

func (p *proc) stdout() string { return p.text(p.name) }
func (p *proc) stderr() string { return p.text(p.name + "e") }
