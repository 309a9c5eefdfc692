package tasks

import (
	"fmt"
	"strconv"
	"time"

	"runner/ledger"
	"runner/runner"
)

// exitLater asks for later where a task says nothing else: EX_TEMPFAIL of
// sysexits.h.
const exitLater = 75

// How long a task pauses that asks for later.
const (
	defaultLater = 30 * time.Second // if it doesn't say
	minLater     = time.Second      // even if it says 0
	maxLater     = 366 * 24 * time.Hour
)

// setLater gives an attempt that asked for later the time it asked for, if
// any. A time that can't be read is mentioned.
func setLater(r *runner.Result, asked string) {
	if r.Outcome != ledger.AskedLater {
		return
	}
	r.RetryAfter = defaultLater
	if asked == "" {
		return
	}
	d, ok := parseLater(asked)
	if !ok {
		note(r, fmt.Sprintf("RUNNER_RESULT: retry_after=%s is no duration such as 30s; %s is taken", asked, defaultLater))
		return
	}
	r.RetryAfter = max(d, minLater)
}

// parseLater reads a duration, or a number of seconds.
func parseLater(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	if n, nerr := strconv.ParseInt(s, 10, 32); nerr == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	return d, err == nil && d >= 0 && d <= maxLater
}
