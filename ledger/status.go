package ledger

import "fmt"

// Status of a record. Pending and running are open, the others settled.
//
//	            claim                   act succeeded
//	(plan) ─▶ pending ──────▶ running ─────────────────▶ done
//	             ▲  ▲            │ │ └─ permanent, or ──▶ failed
//	             │  └─ retry ────┘ │    attempts used up
//	             │                 └─── outcome unknown ▶ in_doubt ─▶ running (check, compensate)
//	             │                                            └─ applied ▶ done · absent ▶ pending/failed
//	             └── rerun: failed, skipped, in_doubt; done with a new generation
//
// An operator also marks pending, failed and in_doubt as done, skipped or
// failed. The transitions themselves are Claim, Settle, Rerun and Mark.
type Status uint8

// The numbers are stored: they only grow.
const (
	Pending Status = iota // known, not started, or waiting for its next attempt
	Running               // claimed by a run, in a Phase
	Done                  // never started again in its generation
	Failed                // attempts used up, or the failure was permanent
	InDoubt               // started, and nobody knows whether it took effect
	Skipped               // an operator decided against it
	statusCount
)

// Statuses lists all of them in the order people read them.
var Statuses = []Status{Pending, Running, Done, Failed, InDoubt, Skipped}

var statusNames = [statusCount]string{"pending", "running", "done", "failed", "in_doubt", "skipped"}

func (s Status) String() string {
	if s < statusCount {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Open tells whether there is still something to wait for or to do.
func (s Status) Open() bool { return s == Pending || s == Running }

// Settled is the opposite of Open.
func (s Status) Settled() bool { return !s.Open() }

// MarshalText makes JSON show the name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText accepts the names that String gives.
func (s *Status) UnmarshalText(b []byte) error {
	p, err := ParseStatus(string(b))
	*s = p
	return err
}

// ParseStatus is the inverse of String.
func ParseStatus(name string) (Status, error) {
	for i, n := range statusNames {
		if n == name {
			return Status(i), nil
		}
	}
	return 0, fmt.Errorf("unknown status %q: use pending, running, done, failed, in_doubt or skipped", name)
}

// Phase of a claim: what its holder is about to do.
type Phase uint8

// The numbers are stored: they only grow.
const (
	Act        Phase = iota // the action itself
	Check                   // asks whether the effect is there
	Compensate              // undoes a partial effect
	Operator                // a person's decision; only in the story of a record
	phaseCount
)

var phaseNames = [phaseCount]string{"act", "check", "compensate", "operator"}

func (p Phase) String() string {
	if p < phaseCount {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// MarshalText makes JSON show the name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText accepts the names that String gives.
func (p *Phase) UnmarshalText(b []byte) error {
	for i, n := range phaseNames {
		if n == string(b) {
			*p = Phase(i)
			return nil
		}
	}
	return fmt.Errorf("unknown phase %q", b)
}

// Details: how a done record came to be done, or what is known of a doubt.
const (
	DetailApplied = "applied" // done: the action took effect
	DetailNoop    = "noop"    // done: there was nothing to do
	DetailAlready = "already" // done: a guard or a check found the effect
	DetailLate    = "late"    // done: the outcome came after the record was put in doubt
	DetailMarked  = "marked"  // an operator said so

	DetailLater  = "later"  // pending: the action asked for a later time
	DetailAbsent = "absent" // pending: a check found no effect

	DetailUnknown     = "unknown"     // in doubt: nobody has asked yet
	DetailTooEarly    = "too_early"   // in doubt: a check found no effect, too early to believe it
	DetailPartial     = "partial"     // in doubt: a check found half an effect
	DetailUnclear     = "unclear"     // in doubt: a check couldn't tell
	DetailCompensated = "compensated" // in doubt: half an effect was undone; the check is asked again
)

// Counts holds a number of records for each status.
type Counts [statusCount]int64

// Total is the sum over all statuses.
func (c Counts) Total() (n int64) {
	for _, v := range c {
		n += v
	}
	return n
}

// Add adds d to c, status by status.
func (c *Counts) Add(d Counts) {
	for i := range c {
		c[i] += d[i]
	}
}
