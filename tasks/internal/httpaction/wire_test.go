package httpaction

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
)

// pipe is a connection of which it is known what was written.
type pipe struct {
	net.Conn
	wrote int
	text  string
	fails error
	part  int // that is written all the same
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.fails != nil {
		p.wrote += p.part
		return p.part, p.fails
	}
	p.wrote += len(b)
	p.text += string(b)
	return len(b), nil
}

func reader(s string) *bufio.Reader { return bufio.NewReader(strings.NewReader(s)) }

func (p *pipe) use(w *wire) *conn {
	c := &conn{Conn: p}
	c.by.Store(w)
	return c
}

func begun() *wire {
	w := &wire{}
	w.exchange(context.Background())
	return w
}

func TestExchangeWritesToOneConnectionOnly(t *testing.T) {
	w, first, second := begun(), &pipe{}, &pipe{}
	a, b := first.use(w), second.use(w)
	for range 2 {
		if n, err := a.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		if n, err := b.Write([]byte("abc")); n != 0 || !errors.Is(err, errTwice) {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if first.wrote != 6 || second.wrote != 0 || !w.end() {
		t.Errorf("%d and %d bytes", first.wrote, second.wrote)
	}
}

func TestWriteWithoutAByteLeavesNoTrace(t *testing.T) {
	broken := errors.New("broken pipe")
	for part, sent := range map[int]bool{0: false, 1: true} {
		w, dead, next := begun(), &pipe{fails: broken, part: part}, &pipe{}
		if _, err := dead.use(w).Write([]byte("abc")); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		if _, err := next.use(w).Write([]byte("abc")); (err != nil) != sent {
			t.Errorf("%d bytes: got %v", part, err)
		}
		if next.wrote > 0 == sent || !w.end() {
			t.Errorf("%d bytes, then %d", part, next.wrote)
		}
	}
}

// What isn't sent at the end of an exchange never is.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	w, late := begun(), &pipe{}
	if w.end() {
		t.Error("sent")
	}
	if n, err := late.use(w).Write([]byte("abc")); n != 0 || !errors.Is(err, errTwice) || late.wrote != 0 {
		t.Errorf("got %d, %v", n, err)
	}
}
