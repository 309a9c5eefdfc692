package httpaction

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"runner/ledger"
	"runner/runner"
)

// How long a task pauses that is asked to come later.
const (
	defaultLater = 30 * time.Second // if the answer doesn't say
	minLater     = time.Second      // even if it says 0, or a time that is over
	maxLater     = 366 * 24 * time.Hour
)

// judge says what a whole answer means for the action.
func (s *Spec) judge(a *answer) (o ledger.Outcome, detail string) {
	lists := []struct {
		codes   []string
		outcome ledger.Outcome
		detail  string
	}{
		{s.Expect, ledger.Succeeded, ledger.DetailApplied}, {s.Noop, ledger.Succeeded, ledger.DetailNoop},
		{s.Later, ledger.AskedLater, ""}, {s.Permanent, ledger.FailedForGood, ""},
	}
	best := 0
	for _, l := range lists {
		if fit := says(l.codes, a.status); fit > best {
			best, o, detail = fit, l.outcome, l.detail
		}
	}
	if best > 0 {
		return o, detail
	}
	return s.usually(a)
}

// usually is what a status means of which the task says nothing.
func (s *Spec) usually(a *answer) (ledger.Outcome, string) {
	switch status := a.status; {
	case status >= 200 && status < 300 && len(s.Expect) == 0:
		return ledger.Succeeded, ledger.DetailApplied
	case status == http.StatusTooManyRequests, status == http.StatusTooEarly,
		status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "":
		return ledger.AskedLater, ""
	case status == http.StatusRequestTimeout:
		return ledger.Unknown, ""
	case status >= 300 && status < 500:
		return ledger.FailedForGood, ""
	}
	return ledger.Unknown, "" // also a success that isn't expected
}

// answerOf says what a whole answer means for a check.
func (s *Spec) answerOf(status int) ledger.Outcome {
	switch {
	case says(s.Expect, status) > 0, len(s.Expect) == 0 && status >= 200 && status < 300:
		return ledger.Applied
	case status == http.StatusNotFound, status == http.StatusGone:
		return ledger.Absent
	}
	return ledger.Unclear
}

// broken says what it means that there is no whole answer.
func broken(ctx context.Context, a *answer, limit time.Duration) (ledger.Outcome, string) {
	o, what := ledger.FailedAttempt, "before anything was sent"
	if a.sent {
		o, what = ledger.Unknown, "the request was sent, and no whole answer came"
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, runner.ErrTimeout):
		return o, fmt.Sprintf("timeout after %s: %s", limit, what)
	case cause != nil:
		return o, fmt.Sprintf("%v: %s", cause, what)
	case !a.sent:
		return o, a.err.Error()
	}
	return o, fmt.Sprintf("%s: %s", what, reason(a.err))
}

func reason(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was closed"
	}
	return err.Error()
}

// statusText names the status of an answer.
func statusText(a *answer) string {
	s := "status " + strconv.Itoa(a.status)
	if t := http.StatusText(a.status); t != "" {
		s += " " + t
	}
	if a.moved != nil {
		s += ", " + a.moved.Error()
	}
	return s
}

// retryAfter reads how long the answer asks to wait: a number of seconds, or
// a date, which is meant by the clock of the server.
func retryAfter(h http.Header, now time.Time) time.Duration {
	asked := strings.TrimSpace(h.Get("Retry-After"))
	d := defaultLater
	if n, err := strconv.ParseUint(asked, 10, 32); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(asked); err == nil {
		if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
			now = theirs
		}
		d = at.Sub(now)
	}
	return min(max(d, minLater), maxLater)
}
