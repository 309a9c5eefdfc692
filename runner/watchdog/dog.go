//go:build unix

package watchdog

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// Dog is the runner's end of a watchdog. Its methods may be called by many at
// once. Once the watchdog is gone they fail, and Gone is closed.
type Dog struct {
	mu   sync.Mutex
	pipe io.WriteCloser
	buf  []byte
	gone chan struct{}
}

// Start starts a watchdog: argv is a command that calls Serve with its stdin.
// It gets a session of its own, so that no signal to the runner's group or
// terminal reaches it.
func Start(path string, argv []string, deadline Instant) (*Dog, error) {
	c := &exec.Cmd{Path: path, Args: argv, Stderr: os.Stderr, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	pipe, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("the watchdog can't be started: %w", err)
	}
	d := &Dog{pipe: pipe, gone: make(chan struct{})}
	go func() {
		_ = c.Wait() // however it ended, it is gone
		close(d.gone)
	}()
	if err := d.Deadline(deadline); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Gone is closed when the watchdog has ended.
func (d *Dog) Gone() <-chan struct{} { return d.gone }

// Deadline moves the deadline.
func (d *Dog) Deadline(at Instant) error {
	return d.tell(func(b []byte) []byte {
		b = append(b, deadlineMsg+" "...)
		b = strconv.AppendInt(b, at.Steady, 10)
		b = append(b, ' ')
		return strconv.AppendInt(b, at.Wall, 10)
	})
}

// Begin tells that an attempt may act. Its name has no spaces.
func (d *Dog) Begin(attempt string) error {
	return d.tell(func(b []byte) []byte { return append(append(b, beginMsg+" "...), attempt...) })
}

// Group tells in which process group an attempt acts.
func (d *Dog) Group(attempt string, pid int) error {
	return d.tell(func(b []byte) []byte {
		b = append(append(b, groupMsg+" "...), attempt...)
		return strconv.AppendInt(append(b, ' '), int64(pid), 10)
	})
}

// End tells that an attempt acts no more.
func (d *Dog) End(attempt string) error {
	return d.tell(func(b []byte) []byte { return append(append(b, endMsg+" "...), attempt...) })
}

// Close tells that the run is over, and waits for the watchdog to leave.
func (d *Dog) Close() {
	_ = d.tell(func(b []byte) []byte { return append(b, quitMsg...) }) // it may be gone
	_ = d.pipe.Close()
	<-d.gone
}

// tell sends one line with one system call.
func (d *Dog) tell(line func([]byte) []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buf = append(line(d.buf[:0]), '\n')
	if _, err := d.pipe.Write(d.buf); err != nil {
		return fmt.Errorf("the watchdog is gone: %w", err)
	}
	return nil
}
