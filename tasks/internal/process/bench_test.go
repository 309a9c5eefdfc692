//go:build unix

package process

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func BenchmarkBareForkExec(b *testing.B) {
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	defer null.Close()
	fd := null.Fd()
	env := os.Environ()
	for b.Loop() {
		pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Env: env, Files: []uintptr{fd, fd, fd}})
		if err != nil {
			b.Fatal(err)
		}
		wait4(pid)
	}
}

func BenchmarkExecCommandRun(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStartAndWait(b *testing.B) {
	null, _ := os.Open(os.DevNull)
	defer null.Close()
	s := &Spec{Path: "/bin/true", Argv: []string{"true"}, Env: os.Environ(), Dir: "/", Stdin: null}
	h := Handling{Read: func(int, []byte) {}, Buffer: make([]byte, 32<<10)}
	for b.Loop() {
		p, err := Start(s)
		if err != nil {
			b.Fatal(err)
		}
		if e := p.Wait(context.Background(), h); e.Code != 0 {
			b.Fatal(e)
		}
	}
}
