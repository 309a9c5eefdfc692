package main

import (
	"os/exec"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// startSlow starts a command whose fsyncs, and those of its children, take
// longer. The kernel asks this process about each of them (seccomp's user
// notification) and about nothing else, so that nothing else is slowed down.
// Under ptrace, which strace needs, each start and end of a process would be.
func startSlow(cmd *exec.Cmd, more time.Duration) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock it: the filter goes with the thread
		asked, err := filterSyncs()
		if err == nil {
			go answer(asked, more)
			err = cmd.Start()
		}
		done <- err
	}()
	return <-done
}

// filterSyncs makes the kernel ask before each fsync and fdatasync of this
// thread and what it starts.
func filterSyncs() (asked int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	const load, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{
		{Code: load, K: 0}, // the number of the system call
		{Code: equal, K: unix.SYS_FSYNC, Jt: 2},
		{Code: equal, K: unix.SYS_FDATASYNC, Jt: 1},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV|unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// question and reply are struct seccomp_notif and seccomp_notif_resp.
type question struct {
	id         uint64
	pid, flags uint32
	data       [64]byte
}

type reply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// answer lets each system call go on after a while, until all processes with
// the filter have ended.
func answer(asked int, more time.Duration) {
	defer unix.Close(asked)
	for {
		poll := []unix.PollFd{{Fd: int32(asked), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err == unix.EINTR {
			continue
		} else if err != nil || poll[0].Revents&unix.POLLIN == 0 {
			return
		}
		var q question
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(asked), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q))); errno != 0 {
			continue // who asked has died meanwhile
		}
		time.AfterFunc(more, func() {
			r := reply{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(asked), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
		})
	}
}
