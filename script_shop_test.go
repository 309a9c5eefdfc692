package main_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// shopToken is what the shop wants to see, in the variable SHOP_TOKEN.
const shopToken = "t0ken-of-the-shop"

// shop FILE: starts a server, in $SHOP, that grants coupons and writes each
// grant as a line to the file, once for each Idempotency-Key.
//
//	POST   /grants/ID       201, by the first letters of ID: gone 404, have 409, busy 429, odd 503 after the
//	                        grant, lost no answer after it, half no answer and no grant
//	GET    /grants/ID       200 if it is granted, else 404
//	DELETE /grants/ID       204
//	GET    /orders?date=D   u1 to u3 of that date as a JSON array; of 2026-11-30 a broken one
//
// All requests are written to FILE.requests.
func shop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shop FILE")
	}
	s := &shopServer{file: ts.MkAbs(args[0]), granted: map[string]bool{}, keys: map[string]bool{}}
	server := httptest.NewServer(s)
	ts.Defer(server.Close)
	ts.Setenv("SHOP", server.URL)
	ts.Setenv("SHOP_TOKEN", shopToken)
}

type shopServer struct {
	file          string
	mu            sync.Mutex
	granted, keys map[string]bool
}

func (s *shopServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(".requests", r.Method+" "+r.RequestURI)
	id := strings.TrimPrefix(r.URL.Path, "/grants/")
	switch {
	case r.Header.Get("Authorization") != "Bearer "+shopToken:
		http.Error(w, "no such token: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	case r.URL.Path == "/orders":
		s.orders(w, r.FormValue("date"))
	case r.Method == http.MethodGet && !s.granted[id]:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPost:
		s.grant(w, id, r.Header.Get("Idempotency-Key"))
	}
}

func (s *shopServer) orders(w http.ResponseWriter, date string) {
	w.Header().Set("Content-Type", "application/json")
	if date == "2026-11-30" {
		fmt.Fprint(w, `[{"order_no": "u1"}, {"order_`)
		return
	}
	fmt.Fprint(w, `[{"order_no": "u1", "amount": 2.50}, {"order_no": "u2", "amount": 10}, {"order_no": "u3", "amount": 7}]`)
}

func (s *shopServer) grant(w http.ResponseWriter, id, key string) {
	switch {
	case strings.HasPrefix(id, "gone"):
		http.Error(w, "no such user", http.StatusNotFound)
		return
	case strings.HasPrefix(id, "have"):
		w.WriteHeader(http.StatusConflict)
		return
	case strings.HasPrefix(id, "busy"):
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case strings.HasPrefix(id, "half"):
		panic(http.ErrAbortHandler)
	}
	if !s.keys[key] {
		s.write("", id)
	}
	s.keys[key], s.granted[id] = true, true
	switch {
	case strings.HasPrefix(id, "odd"):
		http.Error(w, "upstream is gone", http.StatusServiceUnavailable)
	case strings.HasPrefix(id, "lost"):
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"grant": {"no": "G-%s"}}`, id)
	}
}

// write adds a line to a file.
func (s *shopServer) write(suffix, line string) {
	f, err := os.OpenFile(s.file+suffix, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	b := bufio.NewWriter(f)
	fmt.Fprintln(b, line)
	if err := b.Flush(); err != nil {
		panic(err)
	}
}
