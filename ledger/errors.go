package ledger

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound says that there is no such batch, record or run.
	ErrNotFound = errors.New("not found")
	// ErrNoLedger says that the ledger doesn't exist, and wasn't to be created.
	ErrNoLedger = errors.New("the ledger does not exist")
	// ErrSealed says that a batch is sealed: its records are archived.
	ErrSealed = errors.New("it is sealed")
	// ErrRaced undoes a transaction that is built on what isn't true any more.
	// The store runs it again.
	ErrRaced = errors.New("a record was changed by another hand during the transaction")
)

// UnusableError says that a ledger can't be used, why, and what to do. It
// maps to exit code 7.
type UnusableError struct {
	Path string // or address, without password
	Why  string
	Hint string // the next step; may be empty
	Err  error  // may be nil
}

func (e *UnusableError) Error() string {
	s := fmt.Sprintf("ledger %s: %s", e.Path, e.Why)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *UnusableError) Unwrap() error { return e.Err }

// RefusedError says that the rules forbid what an operator asked for.
type RefusedError struct {
	Key    Key
	Why    string
	Busy   bool // the record is running
	Asks   bool // a person may insist
	Status Status
}

func (e *RefusedError) Error() string { return e.Key.String() + ": " + e.Why }
