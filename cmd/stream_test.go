package cmd

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
)

// after lets n bytes pass and then fails.
type after struct {
	n   int
	err error
}

func (w *after) Write(b []byte) (int, error) {
	if w.n -= len(b); w.n < 0 {
		return 0, w.err
	}
	return len(b), nil
}

func TestAReaderThatWentAwayEndsTheListingQuietly(t *testing.T) {
	for _, f := range forms {
		for _, c := range []struct{ err, want error }{
			{err: fmt.Errorf("write: %w", syscall.EPIPE)}, {err: io.ErrClosedPipe},
			{err: syscall.ENOSPC, want: syscall.ENOSPC},
		} {
			w := newWorld(t)
			w.stdout = &after{n: 100_000, err: c.err}
			p := w.printer(form(f), false)
			if err := list(p, fruitColumns, failing(1<<20, nil)); !errors.Is(err, c.want) {
				t.Errorf("%s, %v: list gives %v", f, c.err, err)
			}
			if got := p.out.failure(); !errors.Is(got, c.want) {
				t.Errorf("%s, %v: the stream remembers %v", f, c.err, got)
			}
		}
	}
}
