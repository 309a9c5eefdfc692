//go:build linux

package crash

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"runner/internal/dbtest"
)

// apart are the namespaces of a host: nothing of one can see the processes,
// the name or the network of another. The file system is shared, for the
// effects, and sockets in it are the way to the server.
var apart = []string{"--uts", "--net", "--pid", "--mount"}

// host is a machine of its own, as far as a program can tell, with its own
// name, processes, network, run files, way to the server and clock.
type host struct {
	b     *bed
	name  string
	clock string         // environment of its programs
	proxy *dbtest.Proxy  // the way to the server
	at    string         // the ledger's address on that way
	init  *exec.Cmd      // starts and is waited for as long as the host is up
	plug  io.WriteCloser // pulled at the end
	pid   int            // of its first process
	live  *proc          // what runs on it; may be nil
	stops bool           // that is stopped
}

func needHosts(t testing.TB) {
	t.Helper()
	if out, err := exec.Command("unshare", append(apart, "--fork", "--mount-proc", "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces can be made here: %s", out)
	}
}

// host makes one, and starts it.
func (b *bed) host(name string, clock time.Duration) *host {
	b.t.Helper()
	h := &host{b: b, name: name}
	if clock != 0 {
		h.clock = needClocks(b.t, clock)
	}
	h.proxy, h.at = dbtest.ProxySocket(b.t, b.address)
	h.boot()
	b.t.Cleanup(func() { h.die() })
	return h
}

// boot starts the host. It is up until its plug is pulled, also by the death
// of the test.
func (h *host) boot() {
	h.b.t.Helper()
	words := append(apart[:len(apart):len(apart)], "--fork", "--mount-proc", "--kill-child", "sh", "-c", `hostname "$0" && echo up && read _`, h.name)
	h.init = exec.Command("unshare", words...)
	plug, err := h.init.StdinPipe()
	h.b.must(err)
	said, err := h.init.StdoutPipe()
	h.b.must(err)
	h.b.must(h.init.Start())
	h.plug = plug
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "up\n" {
		h.b.t.Fatalf("host %s says %q: %v", h.name, line, err)
	}
	h.pid = (&proc{Cmd: h.init, away: true, done: make(chan struct{})}).pid()
}

// die ends the host, and whatever runs on it, at once.
func (h *host) die() {
	if h.init == nil {
		return
	}
	_ = syscall.Kill(h.pid, syscall.SIGKILL) // the kernel ends all others with it
	_ = h.plug.Close()
	if h.live != nil { // the kernel waits until what came from outside is reaped
		h.live.code()
	}
	_ = h.init.Wait() // its exit code says that it was killed
	h.init, h.stops = nil, false
}

// start starts the program on the host.
func (h *host) start(env []string, args ...string) *proc {
	h.b.t.Helper()
	front := []string{"nsenter", "--target", fmt.Sprint(h.pid)}
	front = append(append(front, apart...), "--wdns="+h.b.dir, "--")
	env = append(env[:len(env):len(env)], "RUNNER_LEDGER="+h.at, h.clock)
	args = append(args[:len(args):len(args)], "--run-dir", h.runs())
	return h.b.startIn(front, env, true, args...)
}

func (h *host) runs() string { return h.b.path("runs-" + h.name) }

// signal sends a signal to what runs on the host.
func (h *host) signal(s syscall.Signal) {
	if h.live == nil || h.live.ended() {
		return
	}
	if pid := h.live.pid(); pid != 0 {
		_ = syscall.Kill(pid, s) // it may have ended just now
	}
	if s == syscall.SIGCONT { // nsenter stops when its child does
		_ = h.live.Process.Signal(s)
	}
	h.stops = s == syscall.SIGSTOP
}
