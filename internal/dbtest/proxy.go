package dbtest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Proxy passes connections to 127.0.0.1 on to a server, until it is told to
// cut them.
type Proxy struct {
	network, to string
	l           net.Listener
	wg          sync.WaitGroup

	mu    sync.Mutex
	open  map[net.Conn]bool
	down  bool
	watch func(fromServer bool, data []byte) Fate
}

// Fate is what becomes of data that a proxy is to pass on.
type Fate int

// Fates of data.
const (
	Pass   Fate = iota
	Cut         // both sides see their connection end, and the data is lost
	Strand      // the client sees that; the server waits for more
)

// NewProxy makes a proxy for as long as the test lasts.
func NewProxy(t testing.TB, network, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	return newProxy(t, l, network, to)
}

func newProxy(t testing.TB, l net.Listener, network, to string) *Proxy {
	p := &Proxy{network: network, to: to, l: l, open: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close() // nothing more comes
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// Address is host:port of the proxy.
func (p *Proxy) Address() string { return p.l.Addr().String() }

// ProxyPostgres makes a proxy to the server of an address, and gives the
// address through it.
func ProxyPostgres(t testing.TB, address string) (p *Proxy, through string) {
	t.Helper()
	c, err := pgx.ParseConfig(address)
	check(t, err)
	p = NewProxy(t, pgNetwork(c.Host), pgAddress(c.Host, c.Port))
	u, err := url.Parse(address)
	check(t, err)
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = p.Address(), q.Encode()
	return p, u.String()
}

// ProxySocket is ProxyPostgres through a socket in the file system, which
// programs in other network namespaces see too.
func ProxySocket(t testing.TB, address string) (p *Proxy, through string) {
	t.Helper()
	c, err := pgx.ParseConfig(address)
	check(t, err)
	dir, err := os.MkdirTemp("/tmp", "px") // a socket's path is short
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left of it harms nobody
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	check(t, err)
	p = newProxy(t, l, pgNetwork(c.Host), pgAddress(c.Host, c.Port))
	u, err := url.Parse(address)
	check(t, err)
	q := u.Query()
	q.Set("host", dir)
	q.Set("port", "5432")
	u.Host, u.RawQuery = "", q.Encode()
	return p, u.String()
}

func pgNetwork(host string) string {
	if filepath.IsAbs(host) {
		return "unix"
	}
	return "tcp"
}

func pgAddress(host string, port uint16) string {
	if filepath.IsAbs(host) {
		return filepath.Join(host, fmt.Sprintf(".s.PGSQL.%d", port))
	}
	return net.JoinHostPort(host, fmt.Sprint(port))
}

// Cut ends all connections as a broken network does: without a word.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close() // whatever it says, it is gone
	}
	clear(p.open)
}

// SetDown makes the proxy refuse new connections, and cuts the old ones; or
// lets new ones through again.
func (p *Proxy) SetDown(down bool) {
	p.mu.Lock()
	p.down = down
	p.mu.Unlock()
	if down {
		p.Cut()
	}
}

// Watch shows fn what goes through the proxy, before it does. nil ends that.
func (p *Proxy) Watch(fn func(fromServer bool, data []byte) Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = fn
}

func (p *Proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return // the test is over
		}
		out, err := net.Dial(p.network, p.to)
		if err != nil || !p.add(in, out) {
			_ = in.Close() // refused
			if out != nil {
				_ = out.Close()
			}
			continue
		}
		p.wg.Go(func() { p.pass(out, in, false) })
		p.wg.Go(func() { p.pass(in, out, true) })
	}
}

func (p *Proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if !p.down {
			p.open[c] = true
		}
	}
	return !p.down
}

func (p *Proxy) pass(to, from net.Conn, fromServer bool) {
	ends := []net.Conn{to, from}
	defer func() {
		for _, c := range ends {
			_ = c.Close() // it may be closed already
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			switch p.fate(fromServer, buf[:n]) {
			case Cut:
				return
			case Strand:
				ends = []net.Conn{from}
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) fate(fromServer bool, data []byte) Fate {
	p.mu.Lock()
	fn := p.watch
	p.mu.Unlock()
	if fn == nil {
		return Pass
	}
	return fn(fromServer, data)
}
