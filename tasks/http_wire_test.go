package tasks

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runner/ledger"
	"runner/runner"
)

// wired is a server of which a test decides what becomes of each request.
type wired struct {
	net.Listener
	seen  atomic.Int32 // whole requests
	conns atomic.Int32
	all   sync.WaitGroup
}

// onWire starts a server: reply gets each request that has been read whole,
// and its number, and answers on the connection. It is closed unless reply
// says that it goes on.
func onWire(t testing.TB, reply func(c net.Conn, r *http.Request, n int) (goOn bool)) *wired {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wired{Listener: l}
	t.Setenv("URL", "http://"+l.Addr().String())
	w.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.conns.Add(1)
			w.all.Go(func() { w.serve(c, reply) })
		}
	})
	t.Cleanup(func() { l.Close(); w.all.Wait() })
	return w
}

func (w *wired) serve(c net.Conn, reply func(c net.Conn, r *http.Request, n int) bool) {
	defer c.Close()
	for in := bufio.NewReader(c); ; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if !reply(c, r, int(w.seen.Add(1))) {
			return
		}
	}
}

// say answers; what it gives is for reply to return.
func say(c net.Conn, text string, goOn bool) bool {
	_, err := io.WriteString(c, text)
	return goOn && err == nil
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// Case 78: package net/http sends a request again when a connection that was
// kept alive closes before the answer. Here it must not.
func TestCase78RequestOnAConnectionThatClosesIsSentOnceAndInDoubt(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		for _, more := range []string{"", ", body: x", `, body: ""`, ", json: {a: 1}", `, idempotency_header: ""`, ", idempotency_header: X-Idempotency-Key"} {
			for _, how := range []string{"closed", "reset"} {
				w := onWire(t, func(c net.Conn, r *http.Request, n int) bool {
					if n == 1 {
						head := fine
						if r.Method == "HEAD" {
							head = strings.TrimSuffix(head, "ok")
						}
						return say(c, head, true)
					}
					if how == "reset" {
						_ = c.(*net.TCPConn).SetLinger(0)
					}
					return false
				})
				a := httpTask(t, `http: {url: "${URL}", method: `+method+more+"}").Action
				if r := send(t, a); r.Outcome != ledger.Succeeded {
					t.Fatalf("got %+v", r)
				}
				r := send(t, a)
				if r.Outcome != ledger.Unknown || !strings.HasPrefix(r.Error, "the request was sent, and no whole answer came: ") {
					t.Errorf("%s%s, %s: got %+v", method, more, how, r)
				}
				if w.seen.Load() != 2 || w.conns.Load() != 1 {
					t.Errorf("%s%s, %s: %d requests on %d connections", method, more, how, w.seen.Load(), w.conns.Load())
				}
			}
		}
	}
}

func TestBrokenAnswersAreInDoubt(t *testing.T) {
	for answer, want := range map[string]string{
		"":                "the connection was closed",
		"HTTP/1.1 200 OK": "the connection was closed",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok":                                "the connection was closed",
		"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nok":                         "the connection was closed",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n":              "the connection was closed",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n":                   "invalid byte in chunk length",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n": "the server wants to speak another protocol",
		"SSH-2.0-OpenSSH_9\r\n": `net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-OpenSSH_9"`,
		"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 300<<10) + "\r\n\r\n": "net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 262144 bytes; aborted",
	} {
		w := onWire(t, func(c net.Conn, _ *http.Request, _ int) bool { return say(c, answer, false) })
		r := send(t, httpTask(t, `http: {url: "${URL}"}`).Action)
		if r.Outcome != ledger.Unknown || r.Error != "the request was sent, and no whole answer came: "+want {
			t.Errorf("%.60q: got %+v", answer, r)
		}
		if w.seen.Load() != 1 {
			t.Errorf("%.60q: %d requests", answer, w.seen.Load())
		}
	}
}

// A server may close an idle connection at any time. If that is seen before a
// byte is sent, the request goes out on another one.
func TestDeadIdleConnectionIsNoFailure(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		closed := make(chan struct{}, 1)
		w := onWire(t, func(c net.Conn, _ *http.Request, n int) bool {
			say(c, fine, true)
			if n == 1 {
				c.Close()
				closed <- struct{}{}
			}
			return n != 1
		})
		a := httpTask(t, `http: {url: "${URL}", body: x, method: `+method+"}").Action
		send(t, a)
		<-closed
		// Whether the end of the connection has been seen by now is chance; but
		// whatever is said is true.
		r := send(t, a)
		if sent := w.seen.Load() == 2; r.Outcome != ledger.Succeeded && (sent || r.Outcome != ledger.Unknown) {
			t.Errorf("%s: got %+v, sent %v", method, r, sent)
		}
	}
}

func TestWhatIsNotSentIsAFailedAttempt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	t.Setenv("URL", "http://"+l.Addr().String())
	for _, url := range []string{"${URL}", "http://no-such-host.invalid/"} {
		r := send(t, httpTask(t, `http: {url: "`+url+`"}`).Action)
		if r.Outcome != ledger.FailedAttempt || !strings.HasPrefix(r.Error, "dial tcp") {
			t.Errorf("%s: got %+v", url, r)
		}
	}
}

// deadline is a context that ends as one of the engine does.
func deadline(t testing.TB, cause error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	t.Cleanup(func() { cancel(nil) })
	return ctx, func() { cancel(cause) }
}

func TestEndOfTheTimeIsInDoubtOnceSomethingWasSent(t *testing.T) {
	for _, cause := range []error{runner.ErrTimeout, runner.ErrInterrupted} {
		for _, begin := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HTTP/1.1 200 OK\r\n"} {
			ctx, end := deadline(t, cause)
			release := make(chan struct{})
			w := onWire(t, func(c net.Conn, _ *http.Request, _ int) bool {
				say(c, begin, true)
				end()
				<-release
				return false
			})
			a := httpTask(t, `http: {url: "${URL}"}`).Action
			r := a.Act(ctx, httpAttempt())
			close(release)
			want := map[error]string{runner.ErrTimeout: "timeout after 1m0s", runner.ErrInterrupted: "interrupted"}[cause] + ": the request was sent, and no whole answer came"
			if r.Outcome != ledger.Unknown || r.Error != want || w.seen.Load() != 1 {
				t.Errorf("%v, %q: got %+v", cause, begin, r)
			}
		}
	}
}

func TestEndOfTheTimeBeforeAnythingWasSentIsAFailedAttempt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // never accepts: a TLS handshake waits
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("URL", "https://"+l.Addr().String())
	ctx, cancel := context.WithTimeoutCause(context.Background(), 30*time.Millisecond, runner.ErrTimeout)
	defer cancel()
	r := httpTask(t, `http: {url: "${URL}"}`).Action.Act(ctx, httpAttempt())
	if r.Outcome != ledger.FailedAttempt || r.Error != "timeout after 1m0s: before anything was sent" {
		t.Errorf("got %+v", r)
	}
	ended, end := deadline(t, runner.ErrInterrupted)
	end()
	if r := httpTask(t, `http: {url: "${URL}"}`).Action.Act(ended, httpAttempt()); r.Outcome != ledger.NotStarted {
		t.Errorf("got %+v", r)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	const jobs = 16
	var gate sync.WaitGroup
	w := onWire(t, func(c net.Conn, r *http.Request, _ int) bool {
		if r.URL.Path == "/wait" {
			gate.Done()
			gate.Wait()
		}
		// More than is looked at, but little enough to be read.
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", 100<<10, strings.Repeat("x", 100<<10))
		return true
	})
	a := httpTask(t, `http: {url: "${URL}/{{.biz_id}}"}`).Action
	at := httpAttempt()
	for _, path := range []string{"wait", "free", "free", "free"} {
		gate.Add(jobs)
		var all sync.WaitGroup
		at.BizID = path
		for range jobs {
			all.Go(func() { a.Act(context.Background(), at) })
		}
		all.Wait()
	}
	if w.seen.Load() != 4*jobs || w.conns.Load() != jobs {
		t.Errorf("%d requests on %d connections", w.seen.Load(), w.conns.Load())
	}
}

// Case 56: a POST is not turned into a GET.
func TestCase56RedirectsAreFollowedForGETAndHEADOnly(t *testing.T) {
	t.Setenv("TOKEN", "t0ken-of-ours")
	var others []string
	other := served(t, func(_ http.ResponseWriter, r *http.Request) {
		others = append(others, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization")+r.Header.Get("X-Key")+r.Header.Get("Idempotency-Key"))
	})
	var own []string
	served(t, func(w http.ResponseWriter, r *http.Request) {
		own = append(own, r.Method+" "+r.RequestURI+" "+r.Header.Get("X-Key"))
		to := map[string]string{"/same": "/next?x=1", "/other": other.URL + "/o?secret=1", "/loop": "/loop", "/bad": "ftp://x/"}[r.URL.Path]
		if to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	for _, c := range []struct {
		method, path string
		outcome      ledger.Outcome
		requests     int
		err          string
	}{
		{"GET", "/same", ledger.Succeeded, 2, ""},
		{"HEAD", "/same", ledger.Succeeded, 2, ""},
		{"GET", "/other", ledger.Succeeded, 2, ""},
		{"GET", "/loop", ledger.FailedForGood, 11, "status 307 Temporary Redirect, more than 10 redirects"},
		{"GET", "/bad", ledger.FailedForGood, 1, "status 307 Temporary Redirect, its Location can't be followed"},
		{"POST", "/other", ledger.FailedForGood, 1, "status 307 Temporary Redirect, to " + other.URL + "/o; only a GET or HEAD without a body is redirected"},
		{"PUT", "/same", ledger.FailedForGood, 1, ""},
		{"DELETE", "/same", ledger.FailedForGood, 1, ""},
	} {
		own, others = nil, nil
		r := send(t, httpTask(t, `http: {url: "${URL}`+c.path+`", headers: {Authorization: "Bearer ${TOKEN}", X-Key: "${TOKEN}"}, method: `+c.method+"}").Action)
		if r.Outcome != c.outcome || len(own)+len(others) != c.requests || c.err != "" && r.Error != c.err {
			t.Errorf("%s %s: got %+v after %q %q", c.method, c.path, r, own, others)
		}
		if len(others) > 0 && others[0] != c.method+" /o?secret=1 " {
			t.Errorf("another host got %q", others)
		}
	}
}
