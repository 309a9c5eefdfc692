package tasks

import (
	"context"

	"runner/ledger"
	"runner/runner"
)

// functions lists those that `go:` can name. To add one: a file with a
// runner.Function, and a line here.
var functions = []struct {
	name string
	call runner.Function
}{
	{"noop", noop},
}

// noop does nothing, with success: to try things out, and to measure.
func noop(context.Context, runner.Record) (runner.Result, error) {
	return runner.Result{Detail: ledger.DetailNoop}, nil
}
