package httpaction

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"text/template"
	"time"

	"runner/tasks/internal/output"
)

var plain = Language{
	Parse:  func(string) (*template.Template, error) { return nil, nil },
	Expand: func(s string, _ func(string)) (string, error) { return s, nil },
}

func fetch(t *testing.T, h http.HandlerFunc) *Fetch {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	f, err := NewFetch(&Request{URL: s.URL}, output.NewMasker(nil), plain)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestServerThatFallsSilentIsGivenUp(t *testing.T) {
	f := fetch(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "[{}")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	f.silence = 30 * time.Millisecond
	if err := f.Copy(t.Context(), io.Discard); err == nil || err.Error() != "nothing more came for 30ms" {
		t.Errorf("got %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = fmt.Errorf("no space left")

func TestErrorOfTheWriterIsThatOfTheWriter(t *testing.T) {
	for _, body := range []string{"[{}]", "{}\n"} {
		f := fetch(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		if err := f.Copy(t.Context(), full{}); err == nil || err.Error() != errFull.Error() {
			t.Errorf("%q: got %v", body, err)
		}
	}
}
