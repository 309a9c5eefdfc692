//go:build unix

package process

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxDrain bounds what is read of an output after the process has ended: a
// grandchild may never stop writing. No pipe holds more.
const maxDrain = 1 << 20

type platform struct {
	out   [2]int // read ends of both outputs; -1: closed
	exit  int    // becomes readable when the process has ended
	pidfd bool   // exit is one, so the process isn't reaped yet
	// Without a pidfd a goroutine waits and closes the other end of exit.
	gone   atomic.Bool
	status syscall.WaitStatus
}

// Start starts a process. Its errors are those that Classify knows.
func Start(s *Spec) (*Process, error) {
	p := &Process{}
	p.out = [2]int{-1, -1}
	var write [2]int
	for i := range p.out {
		r, w, err := pipe()
		if err != nil {
			p.closeOutputs()
			closeAll(write[:i])
			return nil, err
		}
		p.out[i], write[i] = r, w
	}
	stdin := s.Stdin.Fd()
	pid, fd, err := fork(s, []uintptr{stdin, uintptr(write[0]), uintptr(write[1])})
	closeAll(write[:])
	if err != nil {
		p.closeOutputs()
		return nil, err
	}
	p.Pid = pid
	p.watch(fd)
	return p, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		syscall.Close(fd)
	}
}

func (p *Process) closeOutputs() {
	for i := range p.out {
		p.closeOutput(i)
	}
}

func (p *Process) closeOutput(i int) {
	if p.out[i] >= 0 {
		syscall.Close(p.out[i])
		p.out[i] = -1
	}
}

// watch makes p.exit. Where the kernel has no pidfds, a goroutine waits.
func (p *Process) watch(pidfd int) {
	if pidfd >= 0 {
		p.exit, p.pidfd = pidfd, true
		return
	}
	r, w, err := pipe()
	for err != nil { // it is started: there is no way back. Others will close some.
		time.Sleep(10 * time.Millisecond)
		r, w, err = pipe()
	}
	p.exit = r
	go func() {
		p.status = wait4(p.Pid)
		p.gone.Store(true)
		syscall.Close(w)
	}()
}

// pump reads until the process has ended, and then what is there still.
func (p *Process) pump(h Handling) {
	fds := [3]unix.PollFd{{Events: unix.POLLIN}, {Events: unix.POLLIN}, {Fd: int32(p.exit), Events: unix.POLLIN}}
	for fds[2].Revents == 0 {
		for i := range p.out {
			fds[i].Fd, fds[i].Revents = int32(p.out[i]), 0
		}
		if _, err := unix.Poll(fds[:], -1); err != nil {
			fds[2].Revents = 0 // EINTR: nothing was filled in
			continue
		}
		for i := range p.out {
			if fds[i].Revents != 0 {
				p.read(i, h)
			}
		}
	}
	for i := range p.out {
		p.drain(i, h)
	}
}

// read reads once, where poll said that it wouldn't block.
func (p *Process) read(i int, h Handling) int {
	n, err := syscall.Read(p.out[i], h.Buffer)
	switch {
	case err == syscall.EINTR:
	case n <= 0:
		p.closeOutput(i)
	default:
		h.Read(i, h.Buffer[:n])
	}
	return n
}

func (p *Process) drain(i int, h Handling) {
	for left := maxDrain; left > 0 && p.out[i] >= 0; {
		fds := []unix.PollFd{{Fd: int32(p.out[i]), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			break
		}
		left -= max(1, p.read(i, h))
	}
	p.closeOutput(i)
}

// reap takes the exit status and closes what is open.
func (p *Process) reap() Exit {
	if p.pidfd {
		p.status = wait4(p.Pid)
	} else {
		p.gone.Load() // is true; makes the status of the goroutine ours
	}
	syscall.Close(p.exit)
	if p.status.Signaled() {
		return Exit{Code: -1, Signal: p.status.Signal().String()}
	}
	return Exit{Code: p.status.ExitStatus()}
}

func wait4(pid int) (ws syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != syscall.EINTR {
			return ws
		}
	}
}

func (p *Process) signalGroup(kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, sig) // fails only if nothing is left
}

// groupAlive tells whether the group has a process that isn't a zombie.
func (p *Process) groupAlive() bool {
	// As process 1 of a container the orphans are ours.
	_, _ = syscall.Wait4(-p.Pid, nil, syscall.WNOHANG, nil)
	return syscall.Kill(-p.Pid, 0) != syscall.ESRCH && !onlyZombies(p.Pid)
}

// Release lets go of what is left of a process that succeeded.
func (p *Process) Release() {}

// Classify says what an error of Start means.
func Classify(err error) Failure {
	switch {
	case errors.Is(err, syscall.E2BIG):
		return TooLong
	case errors.Is(err, syscall.EINVAL):
		return Invalid
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOEXEC),
		errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, os.ErrPermission):
		return Vanished
	}
	return Busy
}
