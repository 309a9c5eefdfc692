package cmd

import (
	"errors"
	"fmt"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

// hinted is an error that offers the next step.
type hinted interface {
	error
	Hint() string
}

// withHint adds a next step to an error. A nil error stays nil.
func withHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hintError{err: err, hint: fmt.Sprintf(format, args...)}
}

type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }
func (e *hintError) Hint() string  { return e.hint }

// usageError says that flags, arguments or input are wrong and that nothing
// was executed: exit 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// hintOf finds the next step that an error offers; empty if it has none.
func hintOf(err error) string {
	var (
		h        hinted
		unusable *ledger.UnusableError
		place    *runner.PlaceError
		task     *tasks.HintError
	)
	switch {
	case errors.As(err, &h):
		return h.Hint()
	case errors.As(err, &unusable):
		return unusable.Hint
	case errors.As(err, &place):
		return place.Hint
	case errors.As(err, &task):
		return task.Hint
	}
	return ""
}
