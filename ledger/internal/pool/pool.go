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

// Pool holds connections, made as they are needed. Who waits is served in order.
type Pool[C any] struct {
	free chan *C // nil: one that isn't dialled yet
	dial func() (*C, error)
	done chan struct{}
	once sync.Once
}

// New makes a pool of at most size connections.
func New[C any](size int, dial func() (*C, error)) *Pool[C] {
	p := &Pool[C]{free: make(chan *C, size), dial: dial, done: make(chan struct{})}
	for range size {
		p.free <- nil
	}
	return p
}

// Take waits for a connection, at most as long as ctx lasts.
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
		if c != nil {
			return c, nil
		}
		c, err := p.dial()
		if err != nil {
			p.free <- nil
			return nil, err
		}
		return c, nil
	}
}

// Put gives a connection back.
func (p *Pool[C]) Put(c *C) { p.free <- c }

// Close waits for the connections that are out, and closes each.
func (p *Pool[C]) Close(closeOne func(*C) error) error {
	var errs []error
	p.once.Do(func() {
		close(p.done)
		for range cap(p.free) {
			if c := <-p.free; c != nil {
				errs = append(errs, closeOne(c))
			}
		}
	})
	return errors.Join(errs...)
}
