package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var httpPart = part{
	letter: "j", title: "Records that are sent by HTTP", run: (*bench).http,
	how: "`runner run` of a task with `http:` and a body in JSON at 64 jobs, each time in a new ledger, against a program that reads the same ids and sends the same requests with net/http from 64 goroutines. " +
		"The server is on this machine and answers after 10 ms (20,000 records, short: 200), as one on a network would, or at once (50,000 records, short: 200), where server, client and ledger share the CPUs.",
}

const (
	httpJobs  = 64
	answerIn  = 10 * time.Millisecond
	loopWord  = "http-loop" // makes this program the bare loop
	httpTasks = `  http:
    http: {url: "${BENCH_URL}/{{.biz_id}}", json: {user: "{{.biz_id}}", activity: "1111"}}
    idempotent: true
  http-held:
    http: {url: "${BENCH_URL}/{{.biz_id}}", json: {user: "{{.biz_id}}", activity: "1111"}}
`
)

func (b *bench) http() error {
	address, stop, err := serve()
	if err != nil {
		return err
	}
	defer stop()
	for _, at := range []struct {
		path, what string
		n          int
	}{{"/later", "answer after 10 ms", b.size(20_000, 200)}, {"/now", "answer at once", b.size(50_000, 200)}} {
		if err := b.sent(at.what, address+at.path, at.n); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) sent(what, url string, n int) error {
	ids, err := b.ids(n)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runner := func(name, task string) contender {
		return contender{name, func() (usage, error) {
			argv := []string{b.runner, "run", task, "--date", date, "--from", ids, "-j", strconv.Itoa(httpJobs), "-q", "--progress", "none", "-o", "json"}
			return b.inLedger(n, command{argv: argv, env: []string{"BENCH_URL=" + url}})
		}}
	}
	loop := contender{"loop", func() (usage, error) { return b.do(command{argv: []string{self, loopWord, url, ids}}) }}
	s, err := b.alternate(b.rounds(), loop, runner("idempotent", "http"), runner("held", "http-held"))
	if err != nil {
		return err
	}
	what = fmt.Sprintf("http %s, %d jobs, %s, ", count(n), httpJobs, what)
	b.against(what, "loop", s, atLeast(0.8, "×"), atLeast(0.8, "×"))
	b.fact(what+"records/s of idempotent, held, a net/http loop", rates(n, s["idempotent"], s["held"], s["loop"]))
	return nil
}

// serve starts the server of both sides.
func serve() (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasPrefix(r.URL.Path, "/later") {
			time.Sleep(answerIn)
		}
		fmt.Fprint(w, `{"order_no": "A-1"}`)
	})}
	done := make(chan struct{})
	go func() {
		_ = s.Serve(l)
		close(done)
	}()
	return "http://" + l.Addr().String(), func() { s.Close(); <-done }, nil
}

// httpLoop sends a request for each id, and keeps nothing.
func httpLoop(url, ids string) error {
	f, err := os.Open(ids)
	if err != nil {
		return err
	}
	defer f.Close()
	work, failed := make(chan string, httpJobs), make(chan error, httpJobs)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: httpJobs}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	for range httpJobs {
		all.Go(func() {
			for id := range work {
				if err := post(ctx, client, url, id); err != nil {
					failed <- err
					cancel()
					return
				}
			}
		})
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() && ctx.Err() == nil {
		select {
		case work <- lines.Text():
		case <-ctx.Done():
		}
	}
	close(work)
	all.Wait()
	close(failed)
	return errors.Join(<-failed, lines.Err())
}

func post(ctx context.Context, client *http.Client, url, id string) error {
	body := `{"user":"` + id + `","activity":"1111"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/"+id, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "r1-"+strings.Repeat("0", 40-len(id))+id)
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("status %d", res.StatusCode))
	}
	return nil
}
