package httpaction

import (
	"errors"

	"runner/tasks/internal/output"
)

// Error is what is wrong with a request before it is sent. Of the error behind
// it only the masked text is left, and the next step.
type Error struct{ text, hint string }

func (e *Error) Error() string { return e.text }

// Hint is the next step; it may be empty.
func (e *Error) Hint() string { return e.hint }

func maskedError(err error, mask *output.Masker) error {
	e := &Error{text: "http: " + mask.String(err.Error())}
	var next interface{ NextStep() string }
	if errors.As(err, &next) {
		e.hint = next.NextStep()
	}
	return e
}
