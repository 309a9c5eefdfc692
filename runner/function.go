package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"runner/ledger"
)

// Function does in Go what a task does for one record. An error is a failed
// attempt that is tried again, unless it was made by Permanent, RetryAfter or
// InDoubt. Of the result, only Detail, Result and Output are taken, and the
// rest is what the error says.
//
// A function heeds ctx. Once that has ended, an error is believed to be a
// failure only if Permanent or RetryAfter says so: what was going on when it
// ended may have taken effect. No error is a success at any time.
type Function func(ctx context.Context, r Record) (Result, error)

// said is an error that says how an attempt ended.
type said struct {
	outcome ledger.Outcome
	after   time.Duration
	err     error
}

func (s *said) Error() string { return s.err.Error() }
func (s *said) Unwrap() error { return s.err }

// Permanent says that the record failed for good: trying again won't help.
// Of nil it is nil.
func Permanent(err error) error { return saying(ledger.FailedForGood, err) }

// InDoubt says that nobody knows whether the attempt took effect. Of nil it
// is nil.
func InDoubt(err error) error { return saying(ledger.Unknown, err) }

// RetryAfter says that the attempt did nothing, and that the whole task is to
// pause for d before the next. It isn't counted as an attempt.
func RetryAfter(d time.Duration) error {
	return &said{ledger.AskedLater, d, fmt.Errorf("asked for later: in %s", d)}
}

func saying(o ledger.Outcome, err error) error {
	if err == nil {
		return nil
	}
	return &said{outcome: o, err: err}
}

// Call calls f and says how the attempt ended.
func (f Function) Call(ctx context.Context, r Record) Result {
	res, err := f(ctx, r)
	return ResultOf(ctx, res, err)
}

// ResultOf is how an attempt ended that gave res and err under ctx.
func ResultOf(ctx context.Context, res Result, err error) Result {
	out := Result{Outcome: ledger.Succeeded, Detail: res.Detail, Result: res.Result, Output: res.Output}
	if err == nil {
		if out.Detail == "" {
			out.Detail = ledger.DetailApplied
		}
		return out
	}
	out.Detail, out.Error = "", err.Error()
	var s *said
	switch {
	case errors.As(err, &s):
		out.Outcome, out.RetryAfter = s.outcome, s.after
	case ctx.Err() != nil:
		out.Outcome = ledger.Unknown
		if why := context.Cause(ctx); !errors.Is(err, why) && err.Error() != ctx.Err().Error() {
			out.Error = fmt.Sprintf("%v: %v", why, err)
		} else {
			out.Error = why.Error()
		}
	default:
		out.Outcome = ledger.FailedAttempt
	}
	return out
}
