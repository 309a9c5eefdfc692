package httpaction

import (
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
)

// stale is a transport of which the first connections are dead.
type stale struct {
	dead, part int
	reused     bool
	tries      int
	last       *pipe
}

func (s *stale) RoundTrip(r *http.Request) (*http.Response, error) {
	s.tries++
	s.last = &pipe{}
	if s.tries <= s.dead {
		s.last.fails, s.last.part = errors.New("broken pipe"), s.part
	}
	c := &conn{Conn: s.last}
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{Conn: c, Reused: s.reused})
	if err := r.Write(c); err != nil {
		return nil, err
	}
	return http.ReadResponse(reader("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), r)
}

// A connection that its server has closed while it was idle is no failure, as
// long as it has not taken a byte.
func TestDeadConnectionsAreTriedUntilOneLives(t *testing.T) {
	for _, c := range []struct {
		stale
		tries    int
		ok, sent bool
	}{
		{stale{dead: 3, reused: true}, 4, true, true},
		{stale{dead: 100, reused: true}, maxStale, false, false},
		{stale{dead: 3, reused: false}, 1, false, false},
		{stale{dead: 3, reused: true, part: 1}, 1, false, true},
	} {
		u, err := url.Parse("http://x/")
		if err != nil {
			t.Fatal(err)
		}
		a := call{method: "POST", url: u, header: http.Header{}, body: []byte("body")}.exchange(t.Context(), &c.stale)
		if c.stale.tries != c.tries || (a.err == nil) != c.ok || a.sent != c.sent {
			t.Errorf("%+v: got %+v", c, a)
		}
		if c.ok && !strings.Contains(c.last.text, "\r\n\r\nbody") {
			t.Errorf("sent %q", c.last.text)
		}
	}
}
