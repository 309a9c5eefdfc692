package tasks

import (
	"compress/gzip"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runner/runner"
)

// httpSource opens the records of a task that gets them from a URL.
func httpSource(t testing.TB, more string) runner.Source {
	t.Helper()
	s, err := mustLoad(t, "tasks: {a: {go: noop, secrets: [TOKEN], records: {http: {"+more+"}}}}").Tasks[0].Source("2026-11-28", nil, Field{"f", "x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestAnswerIsAnArrayOrLines(t *testing.T) {
	array := []string{`1:u1 {"biz_id":"u1","n":1.50,"f":"x"}`, `2:12345678901234567890 {"biz_id":12345678901234567890,"t":"a \"],[\\","o":{"l":[1,{"x":2}]},"f":"x"}`}
	for _, c := range []struct {
		kind, body string
		want       []string
	}{
		{"application/json", `[{"biz_id": "u1", "n": 1.50}, {"biz_id": 12345678901234567890, "t": "a \"],[\\", "o": {"l": [1, {"x": 2}]}}]`, array},
		{"application/json; charset=utf-8", "\ufeff \n[\n  {\n    \"biz_id\": \"u1\",\r\n    \"n\": 1.50\n  }\n,{\"biz_id\":12345678901234567890,\"t\":\"a \\\"],[\\\\\",\"o\":{\"l\":[1,{\"x\":2}]}}]\n", array},
		{"application/x-ndjson", "{\"biz_id\": \"u1\"}\n\n{\"biz_id\": \"u2\"}", []string{`1:u1 {"biz_id":"u1","f":"x"}`, `3:u2 {"biz_id":"u2","f":"x"}`}},
		{"", `{"biz_id": "u1"}`, []string{`1:u1 {"biz_id":"u1","f":"x"}`}},
		{"application/problem+json", "[]", nil},
		{"text/plain", "", nil},
	} {
		served(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "GET" || r.RequestURI != "/r?d=2026-11-28" || r.Header.Get("Authorization") != "Bearer t0ken" {
				t.Errorf("got %s %s %v", r.Method, r.RequestURI, r.Header)
			}
			w.Header()["Content-Type"] = []string{c.kind}
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, c.body)
			z.Close()
		})
		t.Setenv("TOKEN", "t0ken")
		s := httpSource(t, `url: "${URL}/r?d={{.execute_date}}", headers: {Authorization: "Bearer ${TOKEN}"}`)
		for range 2 {
			items, err := all(s)
			if d := cmp.Diff(c.want, show(items)); d != "" || err != nil {
				t.Errorf("%q: %v %s", c.body, err, d)
			}
		}
		if want := "http://" + strings.TrimPrefix(s.Name(), "http://"); !strings.HasSuffix(want, "/r") || strings.Contains(want, "?") {
			t.Errorf("it is called %s", s.Name())
		}
	}
}

func TestWhatIsNoWholeAnswerHasNoRecords(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for answer, want := range map[string]string{
		"HTTP/1.1 500 Internal Server Error\r\n\r\nwhy s3cr3t-token":  ": can't be got: status 500 Internal Server Error: why ***",
		"HTTP/1.1 204 No Content\r\n\r\n":                             ": can't be got: status 204 No Content",
		"HTTP/1.1 302 Found\r\nLocation: ftp://x/\r\n\r\n":            ": can't be got: status 302, and its Location can't be followed",
		ok + "Content-Type: text/html\r\n\r\n<p>":                     ": can't be got: the answer is text/html, not JSON",
		ok + "Content-Length: 40\r\n\r\n[{\"biz_id\":1},{\"biz_id\":": ":2: can't be got: the answer broke off in record 2: its end is missing",
		ok + "\r\n[{\"biz_id\":1},":                                   ":1: can't be got: the answer broke off in record 1: its end is missing",
		ok + "\r\n[":                                                  ": can't be got: the answer broke off in record 0: its end is missing",
		ok + "Content-Length: 40\r\n\r\n{\"biz_id\":1}\n{\"biz_i":     ":1: can't be got: the answer broke off: its end is missing",
		ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n":          ": can't be got: the answer broke off: its end is missing",
		ok + "\r\n{\"biz_id\":1}\n":                                   ": can't be got: the answer tells no length, so nobody can know whether all lines came; a JSON array has an end of its own",
		ok + "\r\n[{\"biz_id\":1}] x":                                 ":1: can't be got: record 1: bad JSON: 'x' follows the array",
		ok + "\r\n[{\"biz_id\":1},]":                                  ":1: can't be got: record 1: bad JSON: nothing stands behind a comma of the array",
		ok + "\r\n[,]":                                                ":1: can't be got: record 1: bad JSON: nothing stands behind a comma of the array",
		ok + "\r\n[{\"biz_id\":\"a\nb\"}]":                            ":1: can't be got: record 1: bad JSON: the control character U+000A stands in a string",
		ok + "\r\n[{\"biz_id\":1}}]":                                  ":1: can't be got: record 1: bad JSON: '}' closes nothing",
		ok + "\r\n[{\"biz_id\":1},{\"n\":2}]":                         `:2: there is no "biz_id" in this record, only "n"`,
		ok + "\r\n[{\"biz_id\":1},7]":                                 ":2:1: the line is no JSON object",
		ok + "Content-Length: 14\r\n\r\n{\"items\": [1]}":             `:1: there is no "biz_id" in this record, only "items"`,
		"": ": can't be got: EOF",
	} {
		t.Setenv("TOKEN", "s3cr3t-token")
		onWire(t, func(c net.Conn, _ *http.Request, _ int) bool { return say(c, answer, false) })
		s := httpSource(t, `url: "${URL}/r?token=${TOKEN}"`)
		for range 2 {
			items, err := all(s)
			if err == nil || strings.TrimPrefix(err.Error(), s.Name()) != want {
				t.Errorf("%q: got %q, %v\nwant %s", answer, show(items), err, want)
			}
			var place *runner.PlaceError
			if !errors.As(err, &place) {
				t.Errorf("%q: %T", answer, err)
			}
		}
	}
}

// Case 16: a large answer is spooled, never held.
func TestLargeAnswerIsSpooled(t *testing.T) {
	const n = 60_000
	served(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range n {
			fmt.Fprintf(w, "%c{\"biz_id\": %d, \"text\": %q}", "[,"[min(i, 1)], i, strings.Repeat("x", 200))
		}
		fmt.Fprint(w, "]")
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	count := 0
	for item, err := range httpSource(t, `url: "${URL}"`).Records() {
		if err != nil || item.BizID != fmt.Sprint(count) {
			t.Fatalf("%d: got %s, %v", count, item.BizID, err)
		}
		if count++; count == n/2 {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); count != n || grown > 8<<20 {
		t.Errorf("%d records; the heap has grown by %d bytes", count, grown)
	}
}

func TestCloseBreaksOffAnAnswer(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	served(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "[{")
		w.(http.Flusher).Flush()
		close(begun)
		<-r.Context().Done()
		close(ended)
	})
	s := httpSource(t, `url: "${URL}"`)
	failed := make(chan error)
	go func() {
		_, err := all(s)
		failed <- err
	}()
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("no error")
	}
	<-ended
}
