package cmd

import (
	"fmt"

	"runner/ledger"
)

// kept is the error of the batches that a file stood in the way of.
func (m *mover) kept() error {
	if len(m.stuck) == 0 {
		return nil
	}
	why := "a batch could not be archived: "
	if n := len(m.stuck); n > 1 {
		why = fmt.Sprintf("%d batches could not be archived, the first because of ", n)
	}
	// The file isn't wrapped: it is not the folder that fails, and others were archived.
	return &ledger.UnusableError{
		Path: m.shown, Why: why + m.stuck[0].Error(),
		Hint: "all else was done; put that file right or move it away, and the same command goes on",
	}
}
