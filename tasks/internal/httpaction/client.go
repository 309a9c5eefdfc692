package httpaction

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

const (
	dialTimeout = 30 * time.Second
	// idleTimeout is shorter than the time for which servers keep a
	// connection, so that none is used that its server is about to close:
	// what had been sent on it would be in doubt.
	idleTimeout = time.Second
	// maxHeader is the largest head of an answer.
	maxHeader = 256 << 10
)

// newTransport makes connections as a request says. conns is how many are kept.
func newTransport(t TLS, proxy func(*http.Request) (*url.URL, error), conns int) (*http.Transport, error) {
	conf, err := t.config()
	if err != nil {
		return nil, err
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	d := dialer{Dialer: net.Dialer{Timeout: dialTimeout}, tls: conf}
	return &http.Transport{
		Proxy: proxy, Protocols: protocols, DialContext: d.dial, DialTLSContext: d.dialTLS, TLSClientConfig: conf,
		TLSHandshakeTimeout: dialTimeout, MaxIdleConnsPerHost: conns, IdleConnTimeout: idleTimeout,
		DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
	}, nil
}

type dialer struct {
	net.Dialer
	tls *tls.Config
}

// dial connects. Package net/http would go on with it after the end of the
// exchange it is for.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := whileWanted(ctx)
	defer cancel()
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

func (d *dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := whileWanted(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, dialTimeout)
	defer stop()
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	conf := d.tls
	if conf.ServerName == "" {
		conf = conf.Clone()
		if conf.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	t := tls.Client(c, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return &conn{Conn: t}, nil
}

// whileWanted ends a dial with the attempt that it was begun for. An exchange
// that has sent something needs no other connection.
func whileWanted(ctx context.Context) (context.Context, func()) {
	w, ok := ctx.Value(wireKey{}).(*wire)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	if w.sent() {
		cancel()
	}
	stop := context.AfterFunc(w.attempt, cancel)
	return ctx, func() { stop(); cancel() }
}

func (t *TLS) config() (*tls.Config, error) {
	c := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.SkipVerify, MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("tls ca: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls ca: %s holds no certificate in PEM", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("tls cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// proxyOf says which proxy is used for which request.
func proxyOf(written string, l *Language, value func(string)) (func(*http.Request) (*url.URL, error), error) {
	switch written {
	case "":
		return http.ProxyFromEnvironment, nil
	case "none":
		return nil, nil
	}
	s, err := l.Expand(written, value)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("the address of the proxy can't be read")
	}
	if password, ok := u.User.Password(); ok {
		value(password)
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return nil, errors.New("the address of the proxy must begin with http://, https://, socks5:// or socks5h://")
	}
	if u.Hostname() == "" {
		return nil, errors.New("the address of the proxy has no host")
	}
	return http.ProxyURL(u), nil
}
