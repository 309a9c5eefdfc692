//go:build !unix

package watchdog

import (
	"errors"
	"io"
)

// errUnsupported: this system has no process groups that one process could
// end for another.
var errUnsupported = errors.New("a ledger on a server needs a watchdog, which this system can't have: use Linux, macOS or another Unix")

// Dog is the runner's end of a watchdog.
type Dog struct{}

// Start fails.
func Start(string, []string, Instant) (*Dog, error) { return nil, errUnsupported }

// Serve fails.
func Serve(io.Reader, io.Writer) error { return errUnsupported }

// Gone is never closed.
func (d *Dog) Gone() <-chan struct{} { return nil }

// Deadline fails.
func (d *Dog) Deadline(Instant) error { return errUnsupported }

// Begin fails.
func (d *Dog) Begin(string) error { return errUnsupported }

// Group fails.
func (d *Dog) Group(string, int) error { return errUnsupported }

// End fails.
func (d *Dog) End(string) error { return errUnsupported }

// Close does nothing.
func (d *Dog) Close() {}
