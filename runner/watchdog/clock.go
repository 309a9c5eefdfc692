package watchdog

import "time"

// Instant is a moment by the two clocks of this machine that both processes
// can read: one that never goes back, and also runs while the machine is
// suspended where the system has such a clock, and the wall clock, which alone
// tells of a virtual machine that was held.
type Instant struct{ Steady, Wall int64 } // nanoseconds

// Now is this moment.
func Now() Instant { return Instant{steady(), time.Now().UnixNano()} }

// Add gives the moment d later.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{i.Steady + int64(d), i.Wall + int64(d)}
}

// Reached tells whether the moment is now or was, by any of the clocks: a
// clock that was set forward ends attempts too soon, never too late.
func (i Instant) Reached() bool {
	now := Now()
	return now.Steady >= i.Steady || now.Wall >= i.Wall
}
