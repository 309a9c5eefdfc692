package tasks

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"runner/ledger"
)

// BenchmarkRequests sets an action of 64 jobs against package net/http alone.
func BenchmarkRequests(b *testing.B) {
	s := served(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"order_no": "A-1"}`)
	})
	b.Run("action", func(b *testing.B) {
		a := httpTask(b, `http: {url: "${URL}/grants/{{.biz_id}}", json: {user: "{{.biz_id}}", activity: "1111"}}`).Action
		at := httpAttempt()
		b.SetParallelism(32)
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if r := a.Act(context.Background(), at); r.Outcome != ledger.Succeeded {
					b.Errorf("got %+v", r)
				}
			}
		})
	})
	b.Run("net/http", func(b *testing.B) {
		client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		defer client.CloseIdleConnections()
		b.SetParallelism(32)
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				r, err := http.NewRequest(http.MethodPost, s.URL+"/grants/u1", strings.NewReader(`{"user": "u1", "activity": "1111"}`))
				if err != nil {
					b.Error(err)
					return
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Idempotency-Key", "key-of-u1")
				res, err := client.Do(r)
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	})
}
