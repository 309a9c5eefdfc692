package tasks

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/runner"
)

// served starts a server, which a configuration knows as ${URL}.
func served(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	t.Setenv("URL", s.URL)
	return s
}

// answering starts a server that always answers the same.
func answering(t testing.TB, status int, body string, headers ...string) {
	t.Helper()
	served(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	})
}

// httpTask builds a task, of which these are the lines.
func httpTask(t testing.TB, lines ...string) runner.Task {
	t.Helper()
	task, err := mustLoad(t, "tasks:\n  grant:\n    "+strings.Join(lines, "\n    ")+"\n").Tasks[0].Build(64)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Action.Prepare(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := task.Action.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	return task
}

func httpAttempt() runner.Attempt {
	return runner.Attempt{
		Record: runner.Record{
			Key: ledger.Key{TaskName: "grant", BizID: "u 1/2", ExecuteDate: "2026-11-28"}, Number: 1, Generation: 1,
			IdempotencyKey: "key-of-u1", Fields: map[string]string{"name": `O'Neil & "<x>"`, "amount": "2.50", "empty": "", "up": ".."},
		},
		Timeout: time.Minute, Started: func(int) {}, Kill: make(chan struct{}),
	}
}

func send(t testing.TB, a runner.Action) runner.Result {
	t.Helper()
	return a.Act(context.Background(), httpAttempt())
}

func TestRequestIsMadeOfTheRecord(t *testing.T) {
	t.Setenv("TOKEN", "t0ken-of-ours")
	for _, c := range []struct{ task, method, uri, headers, body string }{
		{`url: "${URL}/g/{{.biz_id}}"`, "POST", "/g/u%201%2F2", "Idempotency-Key=key-of-u1", ""},
		{`url: "${URL}/g/{{.biz_id}}?n={{.fields.name}}&d={{.execute_date}}", method: PUT`, "PUT", "/g/u%201%2F2?n=O%27Neil%20%26%20%22%3Cx%3E%22&d=2026-11-28", "Idempotency-Key=key-of-u1", ""},
		{`url: "${URL}?a={{.fields.empty}}", method: GET, idempotency_header: ""`, "GET", "/?a=", "", ""},
		{`url: "${URL}/{{if .fields.empty}}x{{else}}{{.fields.up | printf \"a%s\"}}{{end}}", method: DELETE, idempotency_header: X-Key`, "DELETE", "/a..", "X-Key=key-of-u1", ""},
		{`url: "${URL}/a", headers: {authorization: "Bearer ${TOKEN}", X-Id: "{{.biz_id}}-{{.generation}}", host: grants.internal}`, "POST", "/a", "Authorization=Bearer t0ken-of-ours Idempotency-Key=key-of-u1 X-Id=u 1/2-1", ""},
		{`url: "${URL}/a", json: {name: "{{.fields.name}}", list: [1.50, 1e3, true, ~, "2"], amount: !json "{{.fields.amount}}", text: "{{.fields.amount}}", o: {}}`, "POST", "/a", "Content-Type=application/json Idempotency-Key=key-of-u1",
			`{"name":"O'Neil & \"<x>\"","list":[1.50,1e3,true,null,"2"],"amount":2.50,"text":"2.50","o":{}}`},
		{`url: "${URL}/a", json: "{{.biz_id}}", headers: {Content-Type: application/vnd.x+json}`, "POST", "/a", "Content-Type=application/vnd.x+json Idempotency-Key=key-of-u1", `"u 1/2"`},
		{`url: "${URL}/a", body: "<id>{{.biz_id}}</id>${TOKEN}", headers: {Content-Type: text/xml}`, "POST", "/a", "Content-Type=text/xml Idempotency-Key=key-of-u1", "<id>u 1/2</id>${TOKEN}"},
		{`url: "${URL}/a", body: "id={{.biz_id}}&n={{.fields.name}}", headers: {Content-Type: application/x-www-form-urlencoded}`, "POST", "/a", "Content-Type=application/x-www-form-urlencoded Idempotency-Key=key-of-u1", "id=u%201%2F2&n=O%27Neil%20%26%20%22%3Cx%3E%22"},
	} {
		var got []string
		served(t, func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			for _, h := range []string{"User-Agent", "Accept-Encoding", "Content-Length"} {
				r.Header.Del(h)
			}
			var headers []string
			for _, name := range []string{"Authorization", "Content-Type", "Idempotency-Key", "X-Id", "X-Key"} {
				if v, ok := r.Header[name]; ok {
					headers = append(headers, name+"="+strings.Join(v, ","))
					delete(r.Header, name)
				}
			}
			got = []string{r.Method, r.RequestURI, strings.Join(headers, " "), string(body), fmt.Sprint(len(r.Header), r.TransferEncoding)}
		})
		r := send(t, httpTask(t, "http: {"+c.task+"}").Action)
		if r.Outcome != ledger.Succeeded || r.Detail != ledger.DetailApplied || r.Error != "" {
			t.Errorf("%s: got %+v", c.task, r)
		}
		if d := gocmp.Diff([]string{c.method, c.uri, c.headers, c.body, "0 []"}, got); d != "" {
			t.Errorf("%s: %s", c.task, d)
		}
	}
}

func TestRecordThatFitsNoRequestFailsForGoodAndIsNotSent(t *testing.T) {
	served(t, func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	for task, want := range map[string]string{
		`url: "${URL}/a/{{.fields.up}}"`:                      `"${URL}/a/{{.fields.up}}" doesn't fit the record: a value in the path is "..", which names another path`,
		`url: "${URL}/a/{{.fields.empty}}/b"`:                 `"${URL}/a/{{.fields.empty}}/b" doesn't fit the record: a value in the path is empty`,
		`url: "${URL}/a/{{.fields.no}}"`:                      `argument "${URL}/a/{{.fields.no}}" doesn't fit the record: map has no entry for key "no"; its fields are amount, empty, name, up`,
		`url: "${URL}/a", headers: {A: "{{.fields.broken}}"}`: "the value of the header A has a line end or a control character",
		`url: "${URL}/a", json: [!json "{{.fields.name}}"]`:   `"{{.fields.name}}" is no JSON for this record, but "O'Neil & \"<x>\""`,
		`url: "${URL}/a{{.fields.percent | print}}%"`:         "the URL ",
	} {
		a := httpAttempt()
		a.Fields["broken"], a.Fields["percent"] = "x\r\nHost: y", "x"
		if strings.Contains(task, ".no}}") {
			delete(a.Fields, "broken")
			delete(a.Fields, "percent")
		}
		r := httpTask(t, "http: {"+task+"}").Action.Act(context.Background(), a)
		if r.Outcome != ledger.FailedForGood || !strings.HasPrefix(r.Error, want) {
			t.Errorf("%s: got %+v", task, r)
		}
	}
}

// Design, section 8. A 503 may come from a proxy, after the server has got the request.
func TestCase79StatusesAreJudged(t *testing.T) {
	const lists = ", expect: [201, 3xx], noop: [409, 302, 2xx], later: [423, 5xx], permanent: [501, 429]"
	for _, c := range []struct {
		more    string
		status  int
		headers string
		outcome ledger.Outcome
		detail  string
	}{
		{"", 200, "", ledger.Succeeded, ledger.DetailApplied},
		{"", 204, "", ledger.Succeeded, ledger.DetailApplied},
		{"", 299, "", ledger.Succeeded, ledger.DetailApplied},
		{"", 302, "", ledger.FailedForGood, ""},
		{"", 304, "", ledger.FailedForGood, ""},
		{"", 400, "", ledger.FailedForGood, ""},
		{"", 404, "", ledger.FailedForGood, ""},
		{"", 408, "", ledger.Unknown, ""},
		{"", 409, "", ledger.FailedForGood, ""},
		{"", 425, "", ledger.AskedLater, ""},
		{"", 429, "", ledger.AskedLater, ""},
		{"", 429, "5", ledger.AskedLater, ""},
		{"", 500, "5", ledger.Unknown, ""},
		{"", 502, "", ledger.Unknown, ""},
		{"", 503, "", ledger.Unknown, ""},
		{"", 503, "5", ledger.AskedLater, ""},
		{"", 504, "", ledger.Unknown, ""},
		{"", 599, "", ledger.Unknown, ""},
		{", expect: 201", 201, "", ledger.Succeeded, ledger.DetailApplied},
		{", expect: 201", 202, "", ledger.Unknown, ""},
		{", expect: [200, 404]", 404, "", ledger.Succeeded, ledger.DetailApplied},
		{lists, 201, "", ledger.Succeeded, ledger.DetailApplied},
		{lists, 200, "", ledger.Succeeded, ledger.DetailNoop},
		{lists, 302, "", ledger.Succeeded, ledger.DetailNoop},
		{lists, 303, "", ledger.Succeeded, ledger.DetailApplied},
		{lists, 409, "", ledger.Succeeded, ledger.DetailNoop},
		{lists, 423, "", ledger.AskedLater, ""},
		{lists, 500, "", ledger.AskedLater, ""},
		{lists, 501, "", ledger.FailedForGood, ""},
		{lists, 429, "", ledger.FailedForGood, ""},
		{lists, 400, "", ledger.FailedForGood, ""},
	} {
		var headers []string
		if c.headers != "" {
			headers = []string{"Retry-After", c.headers}
		}
		answering(t, c.status, "", headers...)
		r := send(t, httpTask(t, `http: {url: "${URL}"`+c.more+"}").Action)
		want := ""
		if c.outcome != ledger.Succeeded {
			want = strings.TrimSuffix(fmt.Sprintf("status %d %s", c.status, http.StatusText(c.status)), " ")
		}
		if r.Outcome != c.outcome || r.Detail != c.detail || r.Error != want || r.ExitCode != nil || (r.RetryAfter > 0) != (c.outcome == ledger.AskedLater) {
			t.Errorf("%+v: got %+v, want %q", c, r, want)
		}
	}
}

func TestCase53RetryAfterIsSecondsOrADateByTheClockOfTheServer(t *testing.T) {
	date := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC) // nothing like ours
	at := func(d time.Duration) string { return date.Add(d).Format(http.TimeFormat) }
	for asked, want := range map[string]time.Duration{
		"": 30 * time.Second, "7": 7 * time.Second, " 7 ": 7 * time.Second, "0": time.Second, "-5": 30 * time.Second, "1.5": 30 * time.Second, "soon": 30 * time.Second,
		"99999999": 366 * 24 * time.Hour, "99999999999999999999": 30 * time.Second,
		at(90 * time.Second): 90 * time.Second, at(-time.Hour): time.Second, at(5000 * time.Hour * 24): 366 * 24 * time.Hour,
		date.Add(time.Minute).Format(time.RFC850): time.Minute,
	} {
		answering(t, 429, "", "Retry-After", asked, "Date", date.Format(http.TimeFormat))
		if r := send(t, httpTask(t, `http: {url: "${URL}"}`).Action); r.RetryAfter != want {
			t.Errorf("%q: got %s, want %s", asked, r.RetryAfter, want)
		}
	}
}

func TestAnswerIsKeptMaskedAndCutWhereAnAttemptDidNotSucceed(t *testing.T) {
	t.Setenv("TOKEN", "s3cr3t-of-the-house")
	long := strings.Repeat("x", 300<<10) + "s3cr3t-of-the-house"
	for _, c := range []struct {
		keep   string
		status int
		body   string
		err    string
		output string
	}{
		{"failed", 200, "fine", "", ""},
		{"all", 200, "fine", "", "HTTP/1.1 200 OK\nContent-Type: text/plain; charset=utf-8\n\nfine"},
		{"failed", 400, "no  such\ncoupon s3cr3t-of-the-house \xff", "status 400 Bad Request: no such coupon *** \ufffd", "HTTP/1.1 400 Bad Request\nContent-Type: text/plain; charset=utf-8\n\nno  such\ncoupon *** \ufffd"},
		{"none", 400, "why", "status 400 Bad Request: why", ""},
		{"failed", 500, long, "status 500 Internal Server Error: " + strings.Repeat("x", 297) + "…", "…"},
	} {
		answering(t, c.status, c.body, "Content-Type", "text/plain; charset=utf-8")
		r := send(t, httpTask(t, `http: {url: "${URL}", headers: {A: "${TOKEN}"}}`, "keep_output: "+c.keep).Action)
		if r.Error != c.err {
			t.Errorf("%s %d: got %q", c.keep, c.status, r.Error)
		}
		if c.output == "…" {
			if len(r.Output) > 17<<10 || strings.Contains(r.Output, "s3cr") || !strings.Contains(r.Output, "bytes left out") {
				t.Errorf("got %d bytes: %s", len(r.Output), r.Output)
			}
		} else if d := gocmp.Diff(c.output, r.Output); d != "" {
			t.Error(d)
		}
	}
}

func TestResultIsPickedFromTheAnswer(t *testing.T) {
	const body = `{"order":{"no":"A-1","n":12345678901234567890,"list":[1, {"x/y":"deep"}],"null":null},"t":"s3cr3t-of-ours"}`
	t.Setenv("TOKEN", "s3cr3t-of-ours")
	for pointer, want := range map[string]string{
		"/order/no": "A-1", "/order/n": "12345678901234567890", "/order/list": `[1,{"x/y":"deep"}]`, "/order/list/1/x~1y": "deep",
		"/order/list/01": "", "/order/list/2": "", "/order/null": "", "/nothing": "", "/t": "***", "/order/no/x": "",
	} {
		for _, status := range []int{200, 400} {
			answering(t, status, body)
			r := send(t, httpTask(t, `http: {url: "${URL}", headers: {A: "${TOKEN}"}, result: `+pointer+"}").Action)
			if r.Result != map[int]string{200: want}[status] {
				t.Errorf("%s: got %+v", pointer, r)
			}
		}
	}
	answering(t, 200, "[")
	if r := send(t, httpTask(t, `http: {url: "${URL}", result: /x}`).Action); r.Outcome != ledger.Succeeded || r.Result != "" {
		t.Errorf("got %+v", r)
	}
}

func TestChecksAndCompensationsAreRequestsToo(t *testing.T) {
	var methods []string
	for status, want := range map[int][2]ledger.Outcome{
		200: {ledger.Applied, ledger.Succeeded}, 204: {ledger.Applied, ledger.Succeeded}, 404: {ledger.Absent, ledger.Succeeded}, 410: {ledger.Absent, ledger.FailedAttempt},
		401: {ledger.Unclear, ledger.FailedAttempt}, 429: {ledger.Unclear, ledger.FailedAttempt}, 500: {ledger.Unclear, ledger.Unknown}, 302: {ledger.Unclear, ledger.FailedAttempt},
	} {
		served(t, func(w http.ResponseWriter, r *http.Request) {
			methods = append(methods, r.Method+" "+r.URL.Path+" "+cmp.Or(r.Header.Get("Idempotency-Key"), "-"))
			w.WriteHeader(status)
		})
		task := httpTask(t, "go: noop", `check: {http: {url: "${URL}/c/{{.biz_id}}"}}`, `compensate: {http: {url: "${URL}/u/{{.biz_id}}", noop: [404]}}`)
		check, undo := send(t, task.Check), send(t, task.Compensate)
		if check.Outcome != want[0] || check.Detail != "" || (check.Error == "") != (want[0] != ledger.Unclear) || check.Error != "" && !strings.HasPrefix(check.Error, "check: status "+strconv.Itoa(status)) {
			t.Errorf("check %d: got %+v", status, check)
		}
		if undo.Outcome != want[1] || undo.Detail != "" || undo.RetryAfter != 0 {
			t.Errorf("compensate %d: got %+v", status, undo)
		}
	}
	for i, m := range methods {
		if m != []string{"GET /c/u 1/2 -", "POST /u/u 1/2 -"}[i%2] {
			t.Errorf("got %s", m)
		}
	}
}

// Case 80: what a request has begun may come to an end long after it.
func TestCase80CheckAfterOfARequestIsItsTimeout(t *testing.T) {
	for text, want := range map[string]string{
		`timeout: 7s, check: {http: {url: "http://x/"}}`: "7s", `timeout: 7s, check_after: 1s, check: [x]`: "1s", `check: [x]`: "1h",
	} {
		if i := mustLoad(t, `tasks: {a: {http: {url: "http://x/"}, `+text+"}}").Tasks[0].Info(); i.CheckAfter != want {
			t.Errorf("%s: got %s", text, i.CheckAfter)
		}
	}
}
