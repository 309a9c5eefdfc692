package postgres

import (
	"sync"
	"time"
)

// clock tells the server's time by this process's. Each transaction asks for
// it in its first statement, which costs nothing more.
type clock struct {
	mu     sync.Mutex
	offset time.Duration // server minus here
	within time.Duration // how far off that may be, to either side
	at     time.Time     // when it was measured; zero: never
}

// keepSample is how long a good sample is preferred to a worse one: clocks
// drift apart by less than a millisecond in that time.
const keepSample = 30 * time.Second

// sample takes in that the server's clock was at micros, some time between
// before and after.
func (c *clock) sample(before, after time.Time, micros int64) {
	within := after.Sub(before) / 2
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && within > c.within && after.Sub(c.at) < keepSample {
		return
	}
	c.offset = time.UnixMicro(micros).Sub(before.Add(within).Round(0)) // wall clock against wall clock
	c.within, c.at = within, after
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return time.Now().UTC()
	}
	// From when it was measured on, the monotonic clock counts: setting this
	// host's clock changes nothing.
	return c.at.Round(0).Add(c.offset).Add(time.Since(c.at)).UTC()
}

// measured is how far the server's clock is ahead, and how far off that may be.
func (c *clock) measured() (ahead, within time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset, c.within
}
