package httpaction

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// splitter writes the items of a JSON array, each as a line, in the spelling
// of the array. It looks at no more than it needs to find their ends; whether
// an item is JSON is for those who read the lines.
type splitter struct {
	r     *bufio.Reader
	w     *bufio.Writer
	items *int64 // begun
}

func splitArray(r *bufio.Reader, w io.Writer, items *int64) error {
	s := splitter{r: r, w: bufio.NewWriterSize(w, 64<<10), items: items}
	err := s.array()
	if flushed := s.w.Flush(); flushed != nil {
		return errWrite{flushed}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the answer broke off in record %d: its end is missing", *items)
	case err != nil:
		return fmt.Errorf("record %d: %w", *items, err)
	}
	return nil
}

func (s *splitter) array() error {
	if _, err := s.next(); err != nil { // is [
		return err
	}
	c, err := s.next()
	if err != nil {
		return err
	}
	for first := true; c != ']' || !first; first = false {
		*s.items++
		if c, err = s.item(c); err != nil {
			return err
		}
		if c == ']' {
			break
		}
		if c, err = s.next(); err != nil {
			return err
		}
		if c == ']' || c == ',' {
			return errors.New("bad JSON: nothing stands behind a comma of the array")
		}
	}
	return s.end()
}

// end makes sure that nothing follows.
func (s *splitter) end() error {
	switch c, err := s.next(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("bad JSON: %q follows the array", c)
	}
}

// next gives the next byte that is no blank.
func (s *splitter) next() (byte, error) {
	for {
		if c, err := s.r.ReadByte(); err != nil || !isBlank(c) {
			return c, err
		}
	}
}

// item writes the item that begins with c, and gives what follows it: a comma
// or the end of the array.
func (s *splitter) item(c byte) (end byte, err error) {
	for depth := 0; ; {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if err := s.text(); err != nil {
				return 0, err
			}
		case '\n', '\r':
			c = ' '
		}
		if depth < 0 || depth == 0 && c == ',' {
			if depth < 0 && c == '}' {
				return 0, errors.New("bad JSON: '}' closes nothing")
			}
			_ = s.w.WriteByte('\n') // Flush tells
			return c, nil
		}
		if c != '"' {
			_ = s.w.WriteByte(c)
		}
		if c, err = s.r.ReadByte(); err != nil {
			return 0, err
		}
	}
}

// text writes a string behind its first quote, which it writes too.
func (s *splitter) text() error {
	_ = s.w.WriteByte('"')
	for escaped := false; ; {
		c, err := s.r.ReadByte()
		switch {
		case err != nil:
			return err
		case c < ' ':
			return fmt.Errorf("bad JSON: the control character %#U stands in a string", rune(c))
		}
		_ = s.w.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			return nil
		}
	}
}
