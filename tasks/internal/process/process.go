package process

import (
	"context"
	"os"
	"sync"
	"time"
)

// goneAfterKill is how long a group may take to vanish after KILL, before it
// is reported as left.
const goneAfterKill = 2 * time.Second

// Spec says what to start. Nothing but the three standard files is inherited.
type Spec struct {
	Path  string // absolute
	Argv  []string
	Env   []string
	Dir   string
	Stdin *os.File
}

// Handling says how a running process is treated.
type Handling struct {
	Kill      <-chan struct{} // once the context has ended: closed when it must end at once
	KillAfter time.Duration   // time between the polite and the forced end
	Read      func(stream int, p []byte)
	Buffer    []byte // for reading
}

// Exit is how a process ended.
type Exit struct {
	Code   int
	Signal string // name of the signal that killed it; empty if none did
	Termed bool   // it was told to end while it was alive
	Killed bool   // it was ended by force while it was alive
}

// Process is a started process.
type Process struct {
	Pid int

	mu     sync.Mutex
	over   bool // it has ended, and its number may be free
	termed time.Time
	killed bool
	platform
}

// Wait reads both outputs until the process has ended, also when others keep
// them open. When ctx ends before, the group is told to end, and forced to
// h.KillAfter later, or at once when h.Kill is closed.
func (p *Process) Wait(ctx context.Context, h Handling) Exit {
	done, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		p.end(h, done)
	})
	p.pump(h) // the process is no more, but still has its number
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	if !stop() {
		close(done)
		<-ended
	}
	exit := p.reap()
	exit.Termed, exit.Killed = !p.termed.IsZero(), p.killed
	return exit
}

// end ends the group politely, then by force, unless done is closed first.
func (p *Process) end(h Handling, done <-chan struct{}) {
	select {
	case <-h.Kill:
		p.signal(true)
		return
	default:
	}
	if !p.signal(false) {
		return
	}
	timer := time.NewTimer(h.KillAfter)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-h.Kill:
	case <-timer.C:
	}
	p.signal(true)
}

// signal sends TERM or KILL to the group, unless the process has ended.
func (p *Process) signal(kill bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.exited() {
		return false
	}
	p.send(kill)
	return true
}

func (p *Process) send(kill bool) {
	if kill {
		p.killed = true
	} else {
		p.termed = time.Now()
	}
	p.signalGroup(kill)
}

// EndGroup ends what is left of the group after Wait, with the same steps,
// and tells whether something is there still.
func (p *Process) EndGroup(h Handling) (left bool) {
	if !p.groupAlive() {
		return false
	}
	p.signalGroup(p.killed)
	if p.termed.IsZero() {
		p.termed = time.Now()
	}
	if p.waitGone(time.Until(p.termed.Add(h.KillAfter)), h.Kill) {
		return false
	}
	p.signalGroup(true)
	return !p.waitGone(goneAfterKill, nil)
}

// waitGone looks for the group more and more seldom: nothing tells when one
// has vanished.
func (p *Process) waitGone(limit time.Duration, kill <-chan struct{}) bool {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; p.groupAlive(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
		select {
		case <-kill:
			return false
		case <-time.After(pause):
		}
	}
	return true
}
