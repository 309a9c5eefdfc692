package dbtest

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy passes connections to 127.0.0.1 on to the socket of a server, until
// it is told to cut them.
type Proxy struct {
	socket string
	l      net.Listener
	wg     sync.WaitGroup

	mu    sync.Mutex
	open  map[net.Conn]bool
	down  bool
	reply func([]byte) bool // of what the server says: false cuts instead
}

// NewProxy makes a proxy for as long as the test lasts.
func NewProxy(t testing.TB, socket string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p := &Proxy{socket: socket, l: l, open: map[net.Conn]bool{}}
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

// Postgres is the address of a database of the proxy's server, through it.
func (p *Proxy) Postgres(t testing.TB, direct string) string {
	t.Helper()
	u, err := url.Parse(direct)
	check(t, err)
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = p.Address(), q.Encode()
	return u.String()
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

// OnReply shows fn what the server says before it is passed on. Where fn says
// false, the connection is cut instead: the server has done what it was asked
// to, and nobody hears of it.
func (p *Proxy) OnReply(fn func(data []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reply = fn
}

func (p *Proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return // the test is over
		}
		out, err := net.Dial("unix", p.socket)
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
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if fromServer && !p.lets(buf[:n]) {
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

func (p *Proxy) lets(data []byte) bool {
	p.mu.Lock()
	fn := p.reply
	p.mu.Unlock()
	return fn == nil || fn(data)
}
