package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

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
	AllowEmpty bool
	Definition Definition
}

// Definition is what a run stores of its task, so that recovery and rerun
// can do without the configuration. It holds no value of any secret and of
// the environment names only. Jobs, limits and output flags are no part of
// it.
type Definition struct {
	Kind       string          `json:"kind"` // of action: run, shell, go
	Action     json.RawMessage `json:"action"`
	Policy     ledger.Policy   `json:"policy"`
	Namespace  string          `json:"namespace,omitempty"`
	TimeZone   string          `json:"time_zone,omitempty"`
	Env        []string        `json:"env,omitempty"`        // names that the task sets
	Secrets    []string        `json:"secrets,omitempty"`    // names whose values are masked
	Incomplete bool            `json:"incomplete,omitempty"` // a secret's value was taken out: can't be run from here
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
