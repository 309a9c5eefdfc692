package ledger

import (
	"fmt"
	"time"
)

// Outcome is how an attempt ended, as far as anyone can know.
type Outcome uint8

// The outcomes of an attempt of the action, then the answers of a check. Their
// names are stored: they only grow.
const (
	NotStarted    Outcome = iota // claimed, and certainly never started; not counted
	Succeeded                    // the action, or the compensation, did what it does
	FailedAttempt                // it failed, and may be tried again
	FailedForGood                // it failed, and trying again won't help
	AskedLater                   // it asked to be tried later; not counted
	Unknown                      // it started, and may or may not have taken effect
	Applied                      // a check found the effect
	Absent                       // a check found no effect
	Partial                      // a check found half an effect
	Unclear                      // a check couldn't tell
	outcomeCount
)

var outcomeNames = [outcomeCount]string{"not_started", "succeeded", "failed", "failed_for_good", "later", "unknown", "applied", "absent", "partial", "unclear"}

func (o Outcome) String() string {
	if o < outcomeCount {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// MarshalText makes JSON show the name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText accepts the names that String gives.
func (o *Outcome) UnmarshalText(b []byte) error {
	for i, n := range outcomeNames {
		if n == string(b) {
			*o = Outcome(i)
			return nil
		}
	}
	return fmt.Errorf("unknown outcome %q", b)
}

// Certain tells whether the outcome of an act attempt is beyond doubt.
func (o Outcome) Certain() bool {
	switch o {
	case Succeeded, FailedAttempt, FailedForGood, AskedLater:
		return true
	}
	return false
}

// Report is what became of one claim.
type Report struct {
	RecordID   int64
	Fence      int64
	Phase      Phase
	RunID      string
	Outcome    Outcome
	Detail     string
	Result     string
	ExitCode   *int
	Error      string
	Output     string
	RetryAfter time.Duration // of AskedLater
	StartedAt  time.Time
	EndedAt    time.Time
	// CutOff: the runner died during the attempt. The record is a suspect.
	CutOff bool
}
