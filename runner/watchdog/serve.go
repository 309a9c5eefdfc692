//go:build unix

package watchdog

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	// look is how often the watchdog looks at the clocks: a timer alone would
	// stand still while the machine sleeps.
	look = 100 * time.Millisecond
	// polite is how long groups of a dead runner may take to end by
	// themselves.
	polite = 5 * time.Second
)

// Serve is the watchdog of the process that started it. It reads messages
// until the runner leaves or is gone, and gives nil if it left in peace.
func Serve(in io.Reader, stderr io.Writer) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT) // it ends with its runner
	k := &keeper{runner: os.Getppid(), open: map[string]int{}, stderr: stderr}
	over := make(chan error, 1)
	go func() { over <- k.read(in) }()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case err := <-over:
			if err == nil {
				return nil
			}
			k.runnerGone()
			return err
		case <-tick.C:
			k.look()
		}
	}
}

// keeper knows what acts for the runner.
type keeper struct {
	runner int
	stderr io.Writer

	mu       sync.Mutex
	deadline Instant
	fed      bool           // there is a deadline
	past     bool           // it has passed: nothing may act any more
	open     map[string]int // attempts that act, with their groups; 0: in the runner
}

// read takes messages until the runner says that the run is over.
func (k *keeper) read(in io.Reader) error {
	r := bufio.NewScanner(in)
	for r.Scan() {
		m, err := decode(r.Text())
		if err != nil {
			return err
		}
		if m.kind == quitMsg {
			return nil
		}
		k.take(m)
	}
	if err := r.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

func (k *keeper) take(m message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch m.kind {
	case deadlineMsg:
		k.deadline, k.fed = m.deadline, true
	case beginMsg:
		k.open[m.attempt] = 0
	case groupMsg:
		k.open[m.attempt] = m.pid
		if k.past {
			kill(m.pid, syscall.SIGKILL)
		}
	case endMsg:
		delete(k.open, m.attempt)
	}
}

// look ends everything at the deadline.
func (k *keeper) look() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.fed || k.past || !k.deadline.Reached() {
		return
	}
	k.past = true
	inRunner := false
	for _, group := range k.open {
		if group != 0 {
			kill(group, syscall.SIGKILL)
		}
		inRunner = inRunner || group == 0
	}
	if inRunner && os.Getppid() == k.runner {
		fmt.Fprintf(k.stderr, "runner: process %d could neither renew its lease nor end what it was doing: ended by its watchdog; run again to go on\n", k.runner)
		_ = syscall.Kill(k.runner, syscall.SIGKILL)
	}
}

// runnerGone ends what a dead runner left: politely as long as there is time
// for it, and then by force.
func (k *keeper) runnerGone() {
	k.mu.Lock()
	defer k.mu.Unlock()
	groups := k.left()
	for g := range groups {
		kill(g, syscall.SIGTERM)
	}
	limit := Now().Add(polite)
	for len(groups) > 0 && !limit.Reached() && (!k.fed || !k.deadline.Reached()) {
		time.Sleep(20 * time.Millisecond) // nothing tells when a group has ended
		for g := range groups {
			if !alive(g) {
				delete(groups, g)
			}
		}
	}
	for g := range groups {
		kill(g, syscall.SIGKILL)
	}
}

// left gives the groups that act for the runner, also those of which it had
// no time to tell.
func (k *keeper) left() map[int]bool {
	groups := map[int]bool{}
	untold := map[string]bool{}
	for attempt, group := range k.open {
		if group != 0 {
			groups[group] = true
		} else {
			untold[attempt] = true
		}
	}
	for _, g := range groupsOf(untold) {
		groups[g] = true
	}
	return groups
}

func kill(group int, sig syscall.Signal) { _ = syscall.Kill(-group, sig) } // fails only if nothing is left
