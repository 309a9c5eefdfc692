package cmd

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// As the first process of a container it falls to runner to reap whatever
// loses its parent, and the kernel gives it no default for any signal. So it
// runs itself as a child, which is an ordinary process, and is its init:
// reaps, forwards signals to that child only, and ends with its exit code.
// Runs, run files and survivors are the child's.

// forwarded are the signals that are meant for the program.
var forwarded = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGALRM, unix.SIGCONT, unix.SIGWINCH,
}

// actAsInit runs the program as a child where this process is pid 1. ok tells
// that it did, and code is then that of the child.
func actAsInit() (code int, ok bool) {
	if os.Getpid() != 1 {
		return 0, false
	}
	sigs := make(chan os.Signal, 32)
	for _, s := range forwarded {
		if !signal.Ignored(s) { // stays ignored, for the child too
			signal.Notify(sigs, s)
		}
	}
	child, err := startChild()
	if err != nil { // go on without an init: orphans stay, the work is done
		signal.Stop(sigs)
		return 0, false
	}
	go func() {
		for s := range sigs {
			_ = child.Signal(s) // it may just have ended
		}
	}()
	return reapUntil(child.Pid), true
}

// startChild starts this program again, in a process group of its own, so
// that a signal to the group of pid 1 doesn't reach it twice; on a terminal
// that group is in the foreground.
func startChild() (*os.Process, error) {
	attr := &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	if fd, ok := foregroundTTY(); ok {
		attr.Sys = &syscall.SysProcAttr{Foreground: true, Ctty: fd}
		if p, err := start(attr); err == nil {
			return p, nil
		}
		attr.Sys = &syscall.SysProcAttr{Setpgid: true} // no terminal of ours after all
	}
	return start(attr)
}

func start(attr *os.ProcAttr) (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.StartProcess(self, os.Args, attr)
}

// foregroundTTY finds our controlling terminal, if we are in its foreground.
func foregroundTTY() (fd int, ok bool) {
	i := slices.IndexFunc([]int{0, 1, 2}, func(fd int) bool {
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err == nil && group == unix.Getpgrp()
	})
	return i, i >= 0
}

// reapUntil reaps every child, adopted ones too, until the given one has
// ended, and gives its exit code.
func reapUntil(pid int) int {
	for {
		var ws unix.WaitStatus
		ended, err := unix.Wait4(-1, &ws, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // there are no children: someone else has reaped it
			return exitFailed
		case ended != pid:
		case ws.Stopped():
			if ws.StopSignal() == unix.SIGTSTP { // Ctrl-Z, and there is no shell to go on with it
				_ = unix.Kill(pid, unix.SIGCONT)
			}
		case ws.Signaled():
			return 128 + int(ws.Signal())
		default:
			return ws.ExitStatus()
		}
	}
}
