// Package pool hands out a few connections to those who ask, in their order.
// It imports nothing but the standard library.
package pool

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed says that the ledger was closed.
var ErrClosed = errors.New("the ledger is closed")

// Pool holds slots for connections. A slot may be empty, or hold a broken one:
// who takes it sees to that.
type Pool[C any] struct {
	free chan *C
	done chan struct{}
	once sync.Once
}

// New makes a pool of slots, which fill makes.
func New[C any](size int, fill func() *C) *Pool[C] {
	p := &Pool[C]{free: make(chan *C, size), done: make(chan struct{})}
	for range size {
		p.free <- fill()
	}
	return p
}

// Take waits for a slot, at most as long as ctx lasts.
func (p *Pool[C]) Take(ctx context.Context) (*C, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select { // closed wins over free
	case <-p.done:
		return nil, ErrClosed
	default:
	}
	select {
	case <-p.done:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case c := <-p.free:
		return c, nil
	}
}

// Put gives a slot back.
func (p *Pool[C]) Put(c *C) { p.free <- c }

// Close waits for the slots that are out, and closes what is in each.
func (p *Pool[C]) Close(closeOne func(*C) error) error {
	var errs []error
	p.once.Do(func() {
		close(p.done)
		for range cap(p.free) {
			errs = append(errs, closeOne(<-p.free))
		}
	})
	return errors.Join(errs...)
}
