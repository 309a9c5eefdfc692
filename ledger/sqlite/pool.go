package sqlite

import (
	"context"
	"errors"
	"sync"
)

var errClosed = errors.New("the ledger is closed")

// pool hands out connections, made as they are needed. Who waits is served in
// order.
type pool struct {
	free chan *conn // nil: one that isn't dialled yet
	size int
	dial func() (*conn, error)
	done chan struct{}
	once sync.Once
}

func newPool(size int, dial func() (*conn, error)) *pool {
	p := &pool{free: make(chan *conn, size), size: size, dial: dial, done: make(chan struct{})}
	for range size {
		p.free <- nil
	}
	return p
}

func (p *pool) take(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select { // closed wins over free
	case <-p.done:
		return nil, errClosed
	default:
	}
	select {
	case <-p.done:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case c := <-p.free:
		if c != nil {
			return c, nil
		}
		c, err := p.dial()
		if err != nil {
			p.free <- nil
		}
		return c, err
	}
}

func (p *pool) put(c *conn) { p.free <- c }

// close waits for the connections that are out.
func (p *pool) close() error {
	var errs []error
	p.once.Do(func() {
		close(p.done)
		for range p.size {
			if c := <-p.free; c != nil {
				errs = append(errs, c.close())
			}
		}
	})
	return errors.Join(errs...)
}
