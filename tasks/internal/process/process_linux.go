package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func pipe() (r, w int, err error) {
	var fds [2]int
	err = syscall.Pipe2(fds[:], syscall.O_CLOEXEC)
	return fds[0], fds[1], err
}

// fork gives -1 for the pidfd where the kernel has none.
func fork(s *Spec, files []uintptr) (pid, pidfd int, err error) {
	pidfd = -1
	pid, err = syscall.ForkExec(s.Path, s.Argv, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true, PidFD: &pidfd},
	})
	return pid, pidfd, err
}

// exited tells whether the process is a zombie already.
func (p *Process) exited() bool {
	if !p.pidfd {
		return p.gone.Load()
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// onlyZombies tells whether a group, that has processes, has none that lives.
// They stay where process 1 doesn't reap.
func onlyZombies(pgid int) bool {
	names, err := readNames("/proc")
	if err != nil {
		return false
	}
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		if state, group := stat(name); group == pgid && state != 'Z' && state != 'X' {
			return false
		}
	}
	return true
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// stat gives state and group of a process; group 0 if it is no more.
func stat(pid string) (state byte, group int) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0
	}
	b = b[bytes.LastIndexByte(b, ')')+1:] // its name may hold anything
	var parent int
	if _, err := fmt.Sscanf(string(b), " %c %d %d", &state, &parent, &group); err != nil {
		return 0, 0
	}
	return state, group
}

// HideFiles keeps the files that runner itself inherited from its actions.
func HideFiles() {
	const first = 3
	if unix.CloseRange(first, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	hideListed("/proc/self/fd", first)
}
