package runner

import (
	"context"
	"time"

	"runner/ledger"
)

// Action does what a task does for one record.
//
// To add a kind of action: implement Action in a file under tasks/ and name
// it in the list of kinds there.
type Action interface {
	// Prepare finds out before anything is planned whether the action can be
	// started at all (its program exists, its address parses). Its error
	// ends the run with exit code 2.
	Prepare() error
	// Act runs one attempt. When ctx ends (its cause is ErrTimeout or
	// ErrInterrupted) the attempt must be ended: politely at first, by force
	// after KillAfter, and by force at once when a.Kill is closed. Act
	// returns only when nothing of an attempt that didn't succeed is left.
	// It must not panic on purpose; a panic becomes a failed attempt.
	Act(ctx context.Context, a Attempt) Result
}

// KillAfter is the time between the polite and the forced end of an attempt.
const KillAfter = 5 * time.Second

// Record is what an action is done for: a record of a batch, in the attempt
// that is made for it.
type Record struct {
	ledger.Key
	ID             string // run, record and fence: the name of this very attempt
	RunID          string
	Number         int // of the attempt: 1 for the first
	Fence          int64
	Generation     int
	IdempotencyKey string
	Fields         map[string]string // its payload, by name
	Payload        []byte            // the same as a JSON object; nil if it has none
}

// Attempt is one start of an action, as the action sees it.
type Attempt struct {
	Record
	Timeout time.Duration // after which ctx ends; 0: never

	// Started tells the pid of the process that acts, at once after its
	// start. It is never nil.
	Started func(pid int)
	// Kill is closed when the attempt must end by force now.
	Kill <-chan struct{}
}

// Result is how an attempt ended, as far as the action can know.
type Result struct {
	Outcome    ledger.Outcome
	Detail     string // of a success: ledger.DetailApplied, DetailNoop or DetailAlready
	Result     string // what it gave back, at most MaxResult bytes
	ExitCode   *int
	Error      string // one line, or a few; masked
	Output     string // kept output; masked and capped
	RetryAfter time.Duration
	// Halt means that no attempt can be started any more, for example
	// because the program vanished: with ledger.NotStarted it ends the run.
	Halt bool
}

// MaxResult is the longest kept result, in bytes.
const MaxResult = 4096
