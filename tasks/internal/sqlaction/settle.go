package sqlaction

import (
	"context"
	"time"

	"runner/ledger"
	"runner/runner"
)

// settle finds out whether a transaction was committed whose connection broke
// off in the middle of that: the guards know. It gives the records of which
// nothing was committed; where it can't be known, they are in doubt.
func (x *executor) settle(group []*job, err error) []*job {
	var open []*job
	for _, j := range group {
		if !j.final {
			open = append(open, j)
		}
	}
	if len(open) == 0 {
		return nil
	}
	there, aerr := x.ask(open)
	if aerr != nil {
		why := err.Error()
		if x.Guard {
			why += "; whether it was committed can't be asked: " + aerr.Error()
		}
		for _, j := range open {
			j.set(runner.Result{Outcome: ledger.Unknown, Error: why})
		}
		return nil
	}
	for i, j := range open {
		j.final = there[i]
	}
	return stillOpen(open)
}

// noGuardError says that there is nothing to ask.
type noGuardError struct{}

func (noGuardError) Error() string { return "there is no guard" }

// ask asks the guards, on new connections, until one answers or settleTime is
// over. Only force cuts it short.
func (x *executor) ask(open []*job) (there []bool, err error) {
	if !x.Guard {
		return nil, noGuardError{}
	}
	keys := make([]guardKey, len(open))
	for i, j := range open {
		keys[i] = j.key
	}
	ctx, cancel := unlessKilled(open[0].at.Kill, settleTime)
	defer cancel()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if there, err = applied(ctx, x.db, keys); err == nil {
			return there, nil
		}
		if pause(ctx, wait) != nil {
			return nil, err
		}
	}
}

// unlessKilled is for what the end of an attempt doesn't cut short, but force
// does. kill is that of the whole run.
func unlessKilled(kill <-chan struct{}, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	go func() {
		select {
		case <-kill:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
