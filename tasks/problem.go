package tasks

import (
	"fmt"
	"strings"
)

// Problem is one mistake in a configuration.
type Problem struct {
	File         string // as it was named
	Line, Column int    // 0: the file as a whole
	Msg          string
	Hint         string // the next step; may be empty
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, max(p.Column, 1), p.Msg)
}

// ConfigError is all mistakes of a configuration, in the order of the file.
type ConfigError struct {
	Problems []Problem
}

// Error gives one line a mistake, without the hints.
func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// HintError is an error with the next step.
type HintError struct {
	Msg  string
	Hint string
}

func (e *HintError) Error() string { return e.Msg }

// NextStep is the hint, for packages that don't know this one.
func (e *HintError) NextStep() string { return e.Hint }
