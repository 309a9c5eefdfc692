package httpaction

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// errTwice ends an exchange that package net/http would send again.
var errTwice = errors.New("the connection closed before an answer came")

// wire is the one connection that an exchange may write to.
type wire struct {
	attempt context.Context // of the caller
	cancel  context.CancelCauseFunc
	on      atomic.Pointer[conn] // the one that took the first byte
	reused  atomic.Bool          // the newest had been used before
}

// sent tells whether a byte has gone out.
func (w *wire) sent() bool { return w.on.Load() != nil }

// end ends the exchange and tells whether a byte has gone out. If not, none
// will.
func (w *wire) end() (sent bool) {
	sent = !w.on.CompareAndSwap(nil, &conn{})
	w.cancel(nil)
	return sent
}

// wireKey is the key of the wire in the context of its exchange.
type wireKey struct{}

// exchange is the context of an exchange, which is ended by cancel.
func (w *wire) exchange(ctx context.Context) context.Context {
	w.attempt = ctx
	ctx, w.cancel = context.WithCancelCause(ctx)
	ctx = context.WithValue(ctx, wireKey{}, w)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			if w.sent() {
				w.cancel(errTwice)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			w.reused.Store(info.Reused)
			if info.Conn != nil {
				connOf(info.Conn).by.Store(w)
			}
		},
	})
}

// conn is a connection that knows for which exchange it is used. Of a TLS
// connection without a proxy it is what is encrypted that is counted.
type conn struct {
	net.Conn
	by atomic.Pointer[wire]
}

// connOf finds ours below those that encrypt it. All connections of a client
// are made by its dialers, which give no others.
func connOf(c net.Conn) *conn {
	for {
		switch in := c.(type) {
		case *conn:
			return in
		case interface{ NetConn() net.Conn }:
			c = in.NetConn()
		}
	}
}

// Write refuses the bytes of an exchange that has written to another
// connection. A write that fails without a byte leaves no trace.
func (c *conn) Write(p []byte) (int, error) {
	w := c.by.Load()
	if w == nil { // a handshake
		return c.Conn.Write(p)
	}
	first := w.on.CompareAndSwap(nil, c)
	if !first && w.on.Load() != c {
		return 0, errTwice
	}
	n, err := c.Conn.Write(p)
	if first && n == 0 && err != nil {
		w.on.Store(nil)
	}
	return n, err
}
