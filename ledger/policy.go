package ledger

import (
	"math"
	"time"
)

// Policy is what a task says about its records: what may be repeated, what
// can be asked, how often and how soon it is tried again. Durations are
// stored as nanoseconds.
type Policy struct {
	Idempotent bool `json:"idempotent,omitempty"`  // repeating is harmless
	Check      bool `json:"check,omitempty"`       // there is a check
	Compensate bool `json:"compensate,omitempty"`  // there is a compensation
	CheckFirst bool `json:"check_first,omitempty"` // ask before a first attempt too

	CheckAfter        time.Duration `json:"check_after,omitempty"` // absent is believed from then on
	Timeout           time.Duration `json:"timeout,omitempty"`     // 0: none
	CheckTimeout      time.Duration `json:"check_timeout,omitempty"`
	CompensateTimeout time.Duration `json:"compensate_timeout,omitempty"`

	Attempts   int           `json:"attempts"` // starts that count, at most
	Backoff    time.Duration `json:"backoff"`  // doubles with each attempt
	MaxBackoff time.Duration `json:"max_backoff"`
	MaxLater   time.Duration `json:"max_later"` // how long a record may ask for later
}

// DefaultPolicy is that of a task which says nothing.
func DefaultPolicy() Policy {
	return Policy{
		Timeout:           time.Hour,
		CheckTimeout:      time.Minute,
		CompensateTimeout: time.Minute,
		Attempts:          3,
		Backoff:           time.Second,
		MaxBackoff:        time.Minute,
		MaxLater:          24 * time.Hour,
	}
}

// ClaimAhead tells whether records may be claimed before a worker is free:
// only where a claim that is cut off doesn't leave a doubt for a person.
func (p Policy) ClaimAhead() bool { return p.Idempotent || p.Check }

// TimeoutOf is the time that one attempt of a phase may take. 0: no limit.
func (p Policy) TimeoutOf(ph Phase) time.Duration {
	switch ph {
	case Check:
		return p.CheckTimeout
	case Compensate:
		return p.CompensateTimeout
	default:
		return p.Timeout
	}
}

// backoff is the delay before the attempt that follows number n, with full
// jitter: rnd in [0, 1) of min(MaxBackoff, Backoff * 2^(n-1)).
func (p Policy) backoff(n int, rnd float64) time.Duration {
	limit := float64(p.Backoff) * math.Pow(2, float64(max(n-1, 0)))
	return time.Duration(min(limit, float64(p.MaxBackoff)) * rnd)
}
