package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
)

func TestAFunctionSaysHowItEnded(t *testing.T) {
	down := errors.New("down")
	over, cancel := context.WithCancelCause(context.Background())
	cancel(ErrTimeout)
	live := context.Background()
	for _, c := range []struct {
		name string
		ctx  context.Context
		res  Result
		err  error
		want Result
	}{
		{"no error", live, Result{Result: "7"}, nil, Result{Outcome: ledger.Succeeded, Detail: ledger.DetailApplied, Result: "7"}},
		{"nothing to do", live, Result{Detail: ledger.DetailNoop}, nil, Result{Outcome: ledger.Succeeded, Detail: ledger.DetailNoop}},
		{"the outcome is that of the error", live, Result{Outcome: ledger.Unknown, Error: "x"}, nil, Result{Outcome: ledger.Succeeded, Detail: ledger.DetailApplied}},
		{"an error", live, Result{Detail: ledger.DetailNoop}, down, Result{Outcome: ledger.FailedAttempt, Error: "down"}},
		{"permanent", live, Result{}, fmt.Errorf("shop 3: %w", Permanent(down)), Result{Outcome: ledger.FailedForGood, Error: "shop 3: down"}},
		{"later", live, Result{}, RetryAfter(time.Minute), Result{Outcome: ledger.AskedLater, RetryAfter: time.Minute, Error: "asked for later: in 1m0s"}},
		{"in doubt", live, Result{}, InDoubt(down), Result{Outcome: ledger.Unknown, Error: "down"}},
		{"in time after the end", over, Result{}, nil, Result{Outcome: ledger.Succeeded, Detail: ledger.DetailApplied}},
		{"an error after the end", over, Result{}, down, Result{Outcome: ledger.Unknown, Error: "timeout: down"}},
		{"the end as an error", over, Result{}, over.Err(), Result{Outcome: ledger.Unknown, Error: "timeout"}},
		{"certain after the end", over, Result{}, Permanent(down), Result{Outcome: ledger.FailedForGood, Error: "down"}},
		{"nil is no error", live, Result{}, errors.Join(Permanent(nil), InDoubt(nil)), Result{Outcome: ledger.Succeeded, Detail: ledger.DetailApplied}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Function(func(context.Context, Record) (Result, error) { return c.res, c.err })
			if d := cmp.Diff(c.want, f.Call(c.ctx, Record{})); d != "" {
				t.Error(d)
			}
		})
	}
}
