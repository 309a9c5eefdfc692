package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"runner/ledger"
)

var (
	// ErrTimeout is the cause of a context whose attempt took too long.
	ErrTimeout = errors.New("timeout")
	// ErrInterrupted is the cause of a context whose run was told to stop.
	ErrInterrupted = errors.New("interrupted")
)

// Task is a batch job, ready to run.
type Task struct {
	Name       string
	Namespace  string // goes into idempotency keys
	Policy     ledger.Policy
	Jobs       int
	Action     Action
	Check      Action // answers ledger.Applied, Absent, Partial or Unclear; nil: none
	Compensate Action // undoes half an effect; nil: none
	AllowEmpty bool
	Definition Definition

	MaxFailures Tolerance     // halt when more attempts than this ended badly
	Rate        float64       // starts a second, at most; 0: no limit
	Overlap     Overlap       // what to do while another run works on the batch
	MaxWait     time.Duration // end rather than wait longer for a record; 0: MaxWait
}

// Overlap is what a run does while another one works on its batch.
type Overlap string

// Join shares the records with the other run, Skip leaves them to it and is
// content, Fail leaves them to it and is not.
const (
	Join Overlap = "join"
	Skip Overlap = "skip"
	Fail Overlap = "fail"
)

// Tolerance is how many attempts may end failed or in doubt: a number, or a
// share of those that ended, which is judged only after 20 of them.
type Tolerance struct {
	Limited bool // else all are tolerated
	Count   int64
	Percent float64
}

// Definition is what a run stores of its task, so that recovery and rerun
// can do without the configuration. It holds no value of any secret and of
// the environment names only. Jobs, limits and output flags are no part of
// it.
type Definition struct {
	Kind       string          `json:"kind"` // of action: run, shell, go
	Action     json.RawMessage `json:"action"`
	Check      json.RawMessage `json:"check,omitempty"`
	Compensate json.RawMessage `json:"compensate,omitempty"`
	// The kinds of check and compensation, of the same words.
	CheckKind      string        `json:"check_kind,omitempty"`
	CompensateKind string        `json:"compensate_kind,omitempty"`
	Policy         ledger.Policy `json:"policy"`
	Namespace      string        `json:"namespace,omitempty"`
	TimeZone       string        `json:"time_zone,omitempty"`
	Env            []string      `json:"env,omitempty"`        // names that the task sets
	Secrets        []string      `json:"secrets,omitempty"`    // names whose values are masked
	Incomplete     bool          `json:"incomplete,omitempty"` // a secret's value was taken out: can't be run from here
}

// Encode gives the stored form and its digest.
func (d Definition) Encode() (text []byte, digest string) {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // RawMessage that is no JSON: a bug of the kind
	}
	sum := sha256.Sum256(text)
	return text, hex.EncodeToString(sum[:8])
}
