//go:build unix

package tasks

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// BenchmarkSpawn compares an attempt of /bin/true with the least that starting
// a program takes, and with what package os/exec takes.
func BenchmarkSpawn(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	fd, env := null.Fd(), os.Environ()
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Env: env, Files: []uintptr{fd, fd, fd}})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("os-exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("attempt", func(b *testing.B) {
		// With a single argument true would read the locale.
		a := newAction(b, commandSpec{Argv: []string{"/bin/true", "{{.biz_id}}", "x"}, Base: "/", Dir: "/"})
		at := attempt()
		for b.Loop() {
			if r := a.Act(context.Background(), at); r.Error != "" {
				b.Fatal(r.Error)
			}
		}
	})
}
