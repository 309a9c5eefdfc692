package runner

import (
	"context"
	"sync"
	"time"
)

// DefaultGrace is how long running actions may go on after the first signal.
const DefaultGrace = 10 * time.Second

// Stop tells runs to stop, harder each time it is asked: at first nothing
// more is started and what runs may finish within the grace time, then what
// runs is ended politely, at last by force.
type Stop struct {
	grace  time.Duration
	mu     sync.Mutex
	level  int
	drain  chan struct{}
	kill   chan struct{}
	ctx    context.Context // ended when running attempts must end
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// NewStop gives a Stop that nobody has asked yet.
func NewStop(grace time.Duration) *Stop {
	s := &Stop{grace: grace, drain: make(chan struct{}), kill: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// Ask asks to stop, harder than the last time.
func (s *Stop) Ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level++
	switch s.level {
	case 1:
		close(s.drain)
		s.timer = time.AfterFunc(s.grace, func() { s.cancel(ErrInterrupted) })
	case 2:
		s.timer.Stop()
		s.cancel(ErrInterrupted)
	case 3:
		close(s.kill)
	}
}

// Asked tells whether anyone has asked.
func (s *Stop) Asked() bool {
	select {
	case <-s.drain:
		return true
	default:
		return false
	}
}

// ending tells whether running attempts were told to end.
func (s *Stop) ending() bool { return s.ctx.Err() != nil }

// Close releases what Stop holds.
func (s *Stop) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.cancel(nil)
}
