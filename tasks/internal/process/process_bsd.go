//go:build unix && !linux

package process

import "syscall"

func pipe() (r, w int, err error) {
	var fds [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(fds[:]); err != nil {
		return 0, 0, err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}

// fork gives no pidfd: there are none.
func fork(s *Spec, files []uintptr) (pid, pidfd int, err error) {
	pid, err = syscall.ForkExec(s.Path, s.Argv, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	return pid, -1, err
}

func (p *Process) exited() bool { return p.gone.Load() }

// onlyZombies can't be told here; the wait for the group has a limit.
func onlyZombies(int) bool { return false }

// HideFiles keeps the files that runner itself inherited from its actions.
func HideFiles() { hideListed("/dev/fd", 3) }
