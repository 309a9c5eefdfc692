//go:build unix

package process

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func shell(t *testing.T, script string) (*Spec, *strings.Builder, Handling) {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	var out strings.Builder
	h := Handling{
		KillAfter: time.Hour, Buffer: make([]byte, 7),
		Read: func(_ int, p []byte) { fmt.Fprintf(&out, "%s", p) },
	}
	return &Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Env: os.Environ(), Dir: "/", Stdin: null}, &out, h
}

// startWithoutPidfd is Start as it goes on older kernels and other systems.
func startWithoutPidfd(t *testing.T, s *Spec) *Process {
	t.Helper()
	p := &Process{}
	var write [2]int
	for i := range write {
		var err error
		if p.out[i], write[i], err = pipe(); err != nil {
			t.Fatal(err)
		}
	}
	pid, pidfd, err := fork(s, []uintptr{s.Stdin.Fd(), uintptr(write[0]), uintptr(write[1])})
	if err != nil {
		t.Fatal(err)
	}
	closeAll(append(write[:], pidfd))
	p.Pid = pid
	p.watch(-1)
	return p
}

func TestOutputAndExitComeWithAndWithoutPidfd(t *testing.T) {
	for name, start := range map[string]func(*testing.T, *Spec) *Process{
		"with": func(t *testing.T, s *Spec) *Process {
			p, err := Start(s)
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		"without": startWithoutPidfd,
	} {
		t.Run(name, func(t *testing.T) {
			s, out, h := shell(t, "echo one; sleep 0; echo two; exit 7")
			p := start(t, s)
			if e := p.Wait(t.Context(), h); e != (Exit{Code: 7}) || out.String() != "one\ntwo\n" {
				t.Errorf("got %+v, %q", e, out)
			}
			if p.EndGroup(h) {
				t.Error("something is left")
			}

			s, _, h = shell(t, "kill -TERM $$")
			if e := start(t, s).Wait(t.Context(), h); e.Signal != "terminated" || e.Termed {
				t.Errorf("got %+v", e)
			}

			s, _, h = shell(t, "exec >&- 2>&-; read x; exec sleep 1000") // outputs closed long before its end
			ctx, cancel := context.WithCancel(t.Context())
			p = start(t, s)
			cancel()
			if e := p.Wait(ctx, h); e.Signal != "terminated" || !e.Termed || e.Killed {
				t.Errorf("got %+v", e)
			}

			s, _, h = shell(t, "sleep 1000 & echo $!; exit 1") // a grandchild holds the outputs open
			p = start(t, s)
			if e := p.Wait(t.Context(), h); e.Code != 1 {
				t.Errorf("got %+v", e)
			}
			if p.EndGroup(h) {
				t.Error("something is left")
			}
		})
	}
}

func TestAWriterThatNeverStopsHoldsNothingUp(t *testing.T) {
	s, _, h := shell(t, "while :; do echo y; done & exit 3")
	h.Buffer = make([]byte, 32<<10)
	p, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(t.Context(), h); e.Code != 3 {
		t.Errorf("got %+v", e)
	}
	if p.EndGroup(h) {
		t.Error("something is left")
	}
}

func TestNoFilesAreLeftOpen(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc")
	}
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	s, _, h := shell(t, "exit 0")
	bad := *s
	bad.Path = "/no/such/program"
	before := count()
	for range 20 {
		p, err := Start(s)
		if err != nil {
			t.Fatal(err)
		}
		p.Wait(t.Context(), h)
		if _, err := Start(&bad); Classify(err) != Vanished {
			t.Fatalf("got %v", err)
		}
		startWithoutPidfd(t, s).Wait(t.Context(), h)
	}
	if after := count(); after != before {
		t.Errorf("%d files became %d", before, after)
	}
}
