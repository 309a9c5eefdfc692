package tasks

import (
	"context"

	"runner/ledger"
	"runner/runner"
)

// Function does in Go what a task does for one record. It heeds ctx: once that
// has ended, what the function did is Unknown unless it says better.
type Function func(ctx context.Context, a runner.Attempt) runner.Result

// functions lists those that `go:` can name. To add one: a file with the
// function, and a line here.
var functions = []struct {
	name string
	call Function
}{
	{"noop", noop},
}

// noop does nothing, with success: to try things out, and to measure.
func noop(context.Context, runner.Attempt) runner.Result {
	return runner.Result{Outcome: ledger.Succeeded, Detail: ledger.DetailNoop}
}
