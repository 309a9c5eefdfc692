package sqlaction

import (
	"context"
	"sync"
)

// pool keeps connections for what doesn't come in batches.
type pool struct {
	db    database
	slots chan struct{} // taken: connections in use

	mu   sync.Mutex
	idle []session
}

func newPool(db database, jobs int) *pool {
	return &pool{db: db, slots: make(chan struct{}, db.executors(max(jobs, 1)))}
}

// do does fn in a transaction, which is taken back unless fn has ended it.
// Where the connection has been idle and turns out to be gone, fn is done
// again on a new one.
func (p *pool) do(ctx context.Context, readOnly bool, fn func(session) error) error {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		s := p.take()
		used := s != nil
		if !used {
			var err error
			if s, err = connect(ctx, p.db); err != nil {
				return err
			}
		}
		err := s.begin(ctx, readOnly)
		begun := err == nil
		if begun {
			err = fn(s)
		}
		p.put(ctx, s, begun, err)
		if err == nil || begun || !used || p.db.class(err) != lost || ctx.Err() != nil {
			return err
		}
	}
}

func (p *pool) take() session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	s := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return s
}

// put keeps a session that works, its transaction taken back.
func (p *pool) put(ctx context.Context, s session, begun bool, err error) {
	if !begun || ctx.Err() != nil || err != nil && p.db.class(err) == lost || s.control(ctx, "ROLLBACK") != nil {
		_ = s.close() // takes back what is open
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.idle {
		_ = s.close() // nothing is open on it
	}
	p.idle = nil
	return p.db.close()
}
