package cmd

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"syscall"

	"github.com/fatih/color"

	"runner/ledger"
)

// errPipeClosed says that the reader of a stream went away.
var errPipeClosed = errors.New("the reader went away")

// stream is stdout or stderr. Its writes are whole and remember their first
// failure.
type stream struct {
	name   string
	mu     sync.Mutex
	w      io.Writer
	err    error
	tty    bool
	width  func() int
	colors palette
	above  func(string) // takes what is written while a bar is drawn; nil: there is none
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.above != nil {
		s.above(string(b))
		return len(b), nil
	}
	return s.write(b)
}

func (s *stream) write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(b)
	switch {
	case err == nil:
		return n, nil
	case pipeClosed(err):
		s.err = errPipeClosed
	default:
		s.err = fmt.Errorf("can't write to %s: %w", s.name, err)
	}
	return n, s.err
}

// divert hands what is written from now on to fn; nil ends that.
func (s *stream) divert(fn func(string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.above = fn
}

// under is the stream beneath a diversion, for who draws there.
func (s *stream) under() io.Writer { return underStream{s} }

type underStream struct{ s *stream }

func (u underStream) Write(b []byte) (int, error) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	return u.s.write(b)
}

// failure is the first failed write, but for a reader that went away.
func (s *stream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.err, errPipeClosed) {
		return nil
	}
	return s.err
}

// columns is the width to cut to; 0 means not to cut.
func (s *stream) columns() int {
	if !s.tty {
		return 0
	}
	return s.width()
}

func pipeClosed(err error) bool {
	const errBrokenPipe, errNoData = syscall.Errno(109), syscall.Errno(232) // of Windows
	if runtime.GOOS == "windows" && (errors.Is(err, errBrokenPipe) || errors.Is(err, errNoData)) {
		return true
	}
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// palette holds the colours of one stream.
type palette struct{ good, bad, doubt, busy, dim *color.Color }

func newPalette(on bool) palette {
	c := func(a color.Attribute) *color.Color {
		c := color.New(a)
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	return palette{good: c(color.FgGreen), bad: c(color.FgRed), doubt: c(color.FgYellow), busy: c(color.FgCyan), dim: c(color.Faint)}
}

// status is the colour of a status.
func (p palette) status(s ledger.Status) *color.Color {
	switch s {
	case ledger.Done:
		return p.good
	case ledger.Failed:
		return p.bad
	case ledger.InDoubt:
		return p.doubt
	case ledger.Running:
		return p.busy
	}
	return p.dim
}

// quietly drops the error of a reader that went away.
func quietly(err error) error {
	if errors.Is(err, errPipeClosed) {
		return nil
	}
	return err
}
