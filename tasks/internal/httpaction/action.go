package httpaction

import (
	"context"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/output"
)

// The values of keep_output.
const (
	keepAll  = "all"
	keepNone = "none"
)

// Surroundings is what an action needs besides its spec and isn't stored.
type Surroundings struct {
	Mask  *output.Masker
	Conns int // that are kept, at most
	// Parse and Expand are those of Language, Explain that of a record.
	Language Language
	Explain  func(text string, err error, at *runner.Attempt) error
	// Data is what an attempt gives to its templates.
	Data func(at *runner.Attempt) map[string]any
}

// Action sends a request for each attempt. What is the same for all of them is
// made once, by Prepare.
type Action struct {
	spec  Spec
	phase ledger.Phase
	sur   Surroundings

	once    sync.Once
	err     error
	mask    *output.Masker
	tripper *http.Transport
	url     *text
	user    string // the header Authorization that the URL stands for
	headers []namedText
	body    *text // nil: none, or tree
	tree    *tree
}

type namedText struct {
	name string // canonical
	text *text
}

// New gives the request as what acts, checks or compensates.
func New(spec *Spec, ph ledger.Phase, sur Surroundings) *Action {
	return &Action{spec: *spec, phase: ph, sur: sur, mask: sur.Mask}
}

// Prepare reads texts, certificates and variables.
func (a *Action) Prepare() error {
	a.once.Do(func() {
		if a.err = a.prepare(); a.err != nil {
			a.err = maskedError(a.err, a.mask)
		}
	})
	return a.err
}

func (a *Action) prepare() (err error) {
	v := &values{}
	defer func() { a.mask = a.sur.Mask.With(v.secret) }()
	l := &a.sur.Language
	if a.url, err = l.compileURL(a.spec.URL, v.ofURL); err != nil {
		return err
	}
	a.user = a.url.user(v.add)
	for _, h := range a.spec.Headers {
		t, err := l.compile(h.Value, v.add, asItIs)
		if err != nil {
			return err
		}
		a.headers = append(a.headers, namedText{textproto.CanonicalMIMEHeaderKey(h.Name), t})
	}
	if a.spec.JSON != nil {
		a.tree, err = l.compileTree(a.spec.JSON)
	} else if a.spec.Body != "" {
		a.body, err = l.compileBody(&a.spec.Request)
	}
	if err != nil {
		return err
	}
	proxy, err := proxyOf(a.spec.Proxy, l, v.add)
	if err != nil {
		return err
	}
	a.tripper, err = newTransport(a.spec.TLS, proxy, a.sur.Conns)
	return err
}

// Close closes the connections that are kept.
func (a *Action) Close() error {
	if a.tripper != nil {
		a.tripper.CloseIdleConnections()
	}
	return nil
}

// Act sends the request for one record. When ctx ends it is broken off at
// once, politely or not: there is nothing between the two. So nothing is left
// to do when at.Kill is closed, which never comes before the end of ctx.
func (a *Action) Act(ctx context.Context, at runner.Attempt) runner.Result {
	if err := a.Prepare(); err != nil {
		return runner.Result{Outcome: ledger.NotStarted, Error: err.Error(), Halt: true}
	}
	if ctx.Err() != nil {
		return runner.Result{Outcome: ledger.NotStarted, Error: context.Cause(ctx).Error()}
	}
	c, err := a.fill(&at)
	if err != nil {
		return a.clean(a.inPhase(runner.Result{Outcome: ledger.FailedForGood, Error: err.Error()}))
	}
	answer := follow(ctx, a.tripper, c)
	r := a.result(ctx, &answer, at.Timeout)
	if a.spec.KeepOutput != keepNone && (!didItsJob(r.Outcome) || a.spec.KeepOutput == keepAll) {
		r.Output = a.kept(&answer)
	}
	return a.clean(r)
}

// fill makes the call for a record.
func (a *Action) fill(at *runner.Attempt) (c call, err error) {
	data := a.sur.Data(at)
	l := a.sur.Language
	l.Explain = func(text string, err error) error { return a.sur.Explain(text, err, at) }
	s, err := a.url.fill(&l, data)
	if err != nil {
		return c, err
	}
	c.method, c.header = a.spec.Method, make(http.Header, len(a.headers)+3)
	if c.url, err = url.Parse(s); err != nil {
		return c, fmt.Errorf("the URL %s of this record can't be read", s)
	}
	c.url.User = nil
	if a.user != "" {
		c.header["Authorization"] = []string{a.user}
	}
	if a.tree != nil {
		c.header["Content-Type"] = []string{"application/json"}
		c.body, err = a.tree.fill([]byte{}, &l, data)
	} else if a.body != nil {
		s, err = a.body.fill(&l, data)
		c.body = []byte(s)
	}
	if err != nil {
		return c, err
	}
	return c, a.fillHeaders(c.header, &l, data, at.IdempotencyKey)
}

func (a *Action) fillHeaders(into http.Header, l *Language, data any, key string) error {
	for _, h := range a.headers {
		v, err := h.text.fill(l, data)
		if err != nil {
			return err
		}
		v = strings.Trim(v, " \t")
		if !validHeaderValue(v) {
			return fmt.Errorf("the value of the header %s has a line end or a control character", h.name)
		}
		into[h.name] = []string{v}
	}
	if a.spec.KeyHeader != "" {
		into.Set(a.spec.KeyHeader, key)
	}
	if _, ok := into["User-Agent"]; !ok {
		into["User-Agent"] = []string{"runner"}
	}
	return nil
}

func validHeaderValue(v string) bool {
	return !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// result says what became of the call.
func (a *Action) result(ctx context.Context, ans *answer, limit time.Duration) (r runner.Result) {
	if ans.err != nil {
		r.Outcome, r.Error = broken(ctx, ans, limit)
		return a.inPhase(r)
	}
	if a.phase == ledger.Check {
		r.Outcome = a.spec.answerOf(ans.status)
	} else {
		r.Outcome, r.Detail = a.spec.judge(ans)
	}
	if r.Outcome == ledger.AskedLater {
		r.RetryAfter = retryAfter(ans.header, time.Now())
	}
	switch {
	case !didItsJob(r.Outcome):
		r.Error = statusText(ans)
		if s := a.excerpt(ans); s != "" {
			r.Error += ": " + s
		}
	case a.spec.Result != "" && r.Outcome != ledger.Absent && !ans.cut:
		r.Result = pick(ans.body, a.spec.Result)
	}
	return a.inPhase(r)
}

// inPhase says what a result means in the phase. A check that has no answer
// can't tell; a compensation is well or not.
func (a *Action) inPhase(r runner.Result) runner.Result {
	switch a.phase {
	case ledger.Check:
		if !didItsJob(r.Outcome) {
			r.Outcome, r.Error = ledger.Unclear, "check: "+r.Error
		}
	case ledger.Compensate:
		r.Detail = ""
		if r.Outcome == ledger.FailedForGood || r.Outcome == ledger.AskedLater {
			r.Outcome, r.RetryAfter = ledger.FailedAttempt, 0
		}
	}
	return r
}

// didItsJob tells whether the request did what it is for, so that its answer
// is of no interest.
func didItsJob(o ledger.Outcome) bool {
	return o == ledger.Succeeded || o == ledger.Applied || o == ledger.Absent
}

// clean masks what is kept, and makes all of it valid text.
func (a *Action) clean(r runner.Result) runner.Result {
	r.Error = output.Valid(a.mask.String(r.Error))
	r.Result = output.Cut(output.Valid(a.mask.String(r.Result)), runner.MaxResult)
	return r
}
