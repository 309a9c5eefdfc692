package runner

import (
	"fmt"
	"iter"
)

// Source yields the records of a task.
type Source interface {
	// Records yields them with the place each came from, or one error and
	// then nothing more. It can be called again and yields the same: what
	// can't be read twice is spooled by the source. An error is a *PlaceError
	// wherever a place is known.
	Records() iter.Seq2[Item, error]
	// Name is what people know the source by: a file name, or stdin.
	Name() string
	// Close releases what it holds.
	Close() error
}

// Item is a record of a source.
type Item struct {
	BizID   string
	Payload []byte // JSON object; nil if the source has nothing but ids
	Line    int64  // where it starts; 0 if the source has no lines
}

// PlaceError is an error in an input, with the place it is at.
type PlaceError struct {
	Name   string // of the source
	Line   int64  // 0: no line
	Column int    // 0: no column
	Msg    string
	Hint   string
}

func (e *PlaceError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.Name, e.Msg)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Column, e.Msg)
}
