package httpaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

const (
	// maxBody is how much of an answer is looked at; up to maxDrain more is
	// read so that its connection can be used again.
	maxBody  = 64 << 10
	maxDrain = 256 << 10

	maxRedirects = 10
	// maxStale is how many dead connections an exchange may come across.
	maxStale = 8
)

// call is a request that has been filled in.
type call struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte // nil: none
}

// answer is what came back.
type answer struct {
	status int
	proto  string
	header http.Header
	body   []byte
	cut    bool  // there was more of the body
	err    error // why there is no whole answer
	sent   bool  // a byte of the request has gone out
	// moved is a redirect that was not followed.
	moved error
}

// follow makes the call, and those that a redirect of a GET or HEAD asks for.
func follow(ctx context.Context, rt http.RoundTripper, c call) (a answer) {
	sent := false
	for hop := 0; ; hop++ {
		a = c.exchange(ctx, rt)
		sent = sent || a.sent
		a.sent = sent
		if a.err != nil || a.header.Get("Location") == "" || !redirects(a.status) {
			return a
		}
		to, err := c.url.Parse(a.header.Get("Location"))
		switch {
		case err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "":
			a.moved = errors.New("its Location can't be followed")
		case c.method != http.MethodGet && c.method != http.MethodHead || c.body != nil:
			a.moved = fmt.Errorf("to %s; only a GET or HEAD without a body is redirected", withoutQuery(to))
		case hop == maxRedirects:
			a.moved = fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if a.moved != nil {
			return a
		}
		c = c.redirected(to)
	}
}

func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// redirected is the call of another URL. Nobody else gets what the task's
// headers say.
func (c call) redirected(to *url.URL) call {
	if to.Scheme != c.url.Scheme || to.Host != c.url.Host {
		c.header = http.Header{"User-Agent": c.header["User-Agent"]}
	}
	to.User, to.Fragment = nil, ""
	c.url = to
	return c
}

// withoutQuery names a URL for people.
func withoutQuery(u *url.URL) string {
	short := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return short.String()
}

// exchange sends the request once. A connection that turns out to be dead
// before it has taken a byte is no failure: the next one is tried.
func (c call) exchange(ctx context.Context, rt http.RoundTripper) (a answer) {
	for range maxStale {
		w := &wire{}
		a = c.try(ctx, rt, w)
		a.sent = w.end()
		if a.err == nil || a.sent || !w.reused.Load() || ctx.Err() != nil {
			break
		}
	}
	return a
}

func (c call) try(ctx context.Context, rt http.RoundTripper, w *wire) (a answer) {
	ctx = w.exchange(ctx)
	res, err := rt.RoundTrip(c.request(ctx))
	if err != nil {
		a.err = err
		return a
	}
	a.status, a.proto, a.header = res.StatusCode, res.Proto, res.Header
	if a.status == http.StatusSwitchingProtocols {
		res.Body.Close() // what follows is no answer
		a.err = errors.New("the server wants to speak another protocol")
		return a
	}
	a.body, a.cut, a.err = readBody(res.Body)
	return a
}

// request makes a request that can be sent once: its body has no GetBody.
func (c call) request(ctx context.Context) *http.Request {
	r := &http.Request{Method: c.method, URL: c.url, Header: c.header, Host: c.header.Get("Host")}
	if len(c.body) > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
	}
	return r.WithContext(ctx)
}

// readBody reads what is looked at of a body, and tells whether there was more.
func readBody(body io.ReadCloser) (text []byte, cut bool, err error) {
	defer body.Close()
	text, err = io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil || len(text) < maxBody {
		return text, false, err
	}
	n, err := io.CopyN(io.Discard, body, maxDrain)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text, n > 0, err
}
