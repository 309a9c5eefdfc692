//go:build linux

package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// service is a server that grants once for each idempotency key.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	sent     map[string]int // requests by record
	granted  map[string]int // by idempotency key: how often it took effect
	keys     map[string]string
	requests int
	killAt   int           // the request at which the runner dies; 0: none
	late     bool          // it dies after the effect, not before it
	reached  chan struct{} // that request is there
	killed   chan struct{} // it has died
}

func newService(t *testing.T) *service {
	s := &service{sent: map[string]int{}, granted: map[string]int{}, keys: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, key := strings.TrimPrefix(r.URL.Path, "/grants/"), r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.sent[id]++
	if other := s.keys[id]; other != "" && other != key {
		w.WriteHeader(http.StatusConflict)
		return
	}
	s.keys[id] = key
	dies := s.requests == s.killAt
	if dies && !s.late {
		s.die()
	}
	if s.granted[key] == 0 {
		s.granted[key]++
	}
	if dies && s.late {
		s.die()
	}
	w.WriteHeader(http.StatusCreated)
}

func (s *service) die() {
	close(s.reached)
	<-s.killed
}

// life kills a run at one of its requests, and tells whether it came so far.
func (s *service) life(b *bed, args ...string) bool {
	s.mu.Lock()
	s.killAt, s.late = s.requests+1+rand.IntN(12), rand.IntN(2) == 0
	s.reached, s.killed = make(chan struct{}), make(chan struct{})
	s.mu.Unlock()
	p := b.start(nil, []string{"SHOP=" + s.URL}, args...)
	select {
	case <-s.reached:
		hit := p.kill(false)
		close(s.killed)
		return hit
	case <-p.done:
		return false
	}
}

// A runner that is killed in the middle of its requests sends none twice,
// unless the task says that the server honours the key, which is the same then.
func TestRequestsOfAKilledRunnerAreSentOnceOrWithTheSameKey(t *testing.T) {
	for _, m := range []mode{hold, idempotent} {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			b, s := newBed(t, 120), newService(t)
			text := "tasks:\n  " + task + ":\n    records: {lines: ids}\n    http: {url: \"${SHOP}/grants/{{.biz_id}}\"}\n    retry: {attempts: 50, backoff: 1ms}\n"
			if m == idempotent {
				text += "    idempotent: true\n"
			}
			b.write("runner.yaml", text)
			kills := 0
			for range 20 {
				if s.life(b, "run", task, "--date", date, "-j", "4") {
					kills++
				}
			}
			s.mu.Lock()
			s.killAt = 0
			s.mu.Unlock()
			code := map[mode]int{hold: 3, idempotent: 0}[m]
			end := b.start(nil, []string{"SHOP=" + s.URL}, "run", task, "--date", date, "-o", "json")
			b.expect(end, code)
			s.verify(t, m, end.summary(), b.statuses(), kills)
		})
	}
}

func (s *service) verify(t *testing.T, m mode, sum summary, statuses map[string]int, kills int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	twice := 0
	for id, n := range s.sent {
		if n > 1 {
			twice++
		}
		if m == hold && n > 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
		if s.granted[s.keys[id]] != 1 {
			t.Errorf("%s took effect %d times", id, s.granted[s.keys[id]])
		}
	}
	for id, status := range statuses {
		if status == done && s.granted[s.keys[id]] != 1 || status != done && status != inDoubt {
			t.Errorf("%s is %d", id, status)
		}
	}
	if kills == 0 || sum.Counts["done"]+sum.Counts["in_doubt"] != len(statuses) || m == idempotent && (twice == 0 || len(s.granted) != len(statuses)) {
		t.Errorf("%d kills, %d sent twice, %d keys, %+v", kills, twice, len(s.granted), sum)
	}
	fmt.Printf("crash: http, %s: %d kills, %d requests for %d records, %d sent again, %d in doubt, no effect twice\n", m, kills, s.requests, len(statuses), twice, sum.Counts["in_doubt"])
}
