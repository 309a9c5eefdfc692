package ledger

import "time"

// Entry is what the ledger knows of one record. A zero time means never.
type Entry struct {
	ID      int64 // number within this ledger; rises in the order of planning
	BatchID int64
	Key
	Payload []byte // JSON object of the record's fields; nil if it has none

	Status     Status
	Phase      Phase // while running: what the holder does
	Detail     string
	Result     string // what the action gave back
	Attempts   int    // starts of the action that count
	Generation int    // 1; grows when a done record is done again
	Fence      int64  // grows with every claim and every operator's decision
	ActFence   int64  // fence of the newest act attempt while its outcome isn't known, or if it made the record done; else 0
	CompFence  int64  // fence of the compensation since the newest act attempt; 0 if none
	RunID      string // the run that claimed it last

	NotBefore  time.Time     // not due before this
	Delay      time.Duration // how far off NotBefore was when it was set
	LaterSince time.Time     // first of the present row of retry-laters
	AskFirst   bool          // a check must be asked before the next start
	Suspect    bool          // an attempt of it was cut off with its runner: started alone

	StartedAt time.Time // of the newest attempt
	EndedAt   time.Time
	ExitCode  *int
	Error     string
}

// Attempt is one line of the story of a record: an attempt of its action, its
// check or its compensation, or a person's decision. It is keyed by record
// and fence; nothing in it is ever replaced.
type Attempt struct {
	RecordID   int64
	Fence      int64
	Phase      Phase
	Generation int
	Number     int    // 1 for the first start of the action
	RunID      string // empty for an operator
	Actor      string // empty for a run
	StartedAt  time.Time
	EndedAt    time.Time
	Status     Status // where the record went
	Detail     string
	Result     string
	ExitCode   *int
	Error      string
	Output     string // head and tail of what it printed, masked

	// A certain outcome that came after this attempt had been put in doubt
	// and a newer one had started.
	Late       string // name of the Outcome; empty if none
	LateDetail string
	LateAt     time.Time
}

// Batch is all records of one task on one execute date.
type Batch struct {
	ID          int64
	TaskName    string
	ExecuteDate string
	Counts      Counts
	FirstID     int64 // lowest and highest record number; 0 if it has none
	LastID      int64
	OpenPlanRun string // what isn't planned yet, see openPlan; such a batch is never complete
	PausedUntil time.Time
	HaltedAt    time.Time
	HaltReason  string
	SealedAt    time.Time // its records lie in an archive, or are on their way there or back
	SealedIn    string    // the archive file; a relative name is within the ledger's archive folder
	SealedSum   string    // its SHA-256, hexadecimal
	CreatedAt   time.Time
}

// Run is one invocation that works on a batch.
type Run struct {
	No               int64 // number within this ledger
	ID               string
	BatchID          int64
	TaskName         string
	ExecuteDate      string
	TimeZone         string
	Command          string // run, exec, rerun
	Host             string
	BootID           string // empty where the system has none
	PID              int
	ProcessStartedAt time.Time
	File             string // absolute path of the run file
	// A Leaser's run begins with a lease of this length, and LeaseUntil is
	// when it runs out. Both are zero in other stores.
	Lease      time.Duration
	LeaseUntil time.Time
	Definition []byte // JSON; see Definition in package runner
	Digest     string // of Definition
	Version    string // of the program
	StartedAt  time.Time
	EndedAt    time.Time // zero while it may be alive
	Result     string
	ExitCode   int
	Planned    int64
	New        int64
	Executed   int64
	Counts     Counts // of its scope, at its end

	Shard Shard // of its input that it plans; isn't kept
}

// Input is a record as it comes from a source.
type Input struct {
	BizID   string
	Payload []byte
}

// Known is what the ledger holds for an Input. ID is 0 if it holds nothing.
type Known struct {
	ID          int64
	Status      Status
	Started     bool // an attempt counted, or it is running
	SamePayload bool
}
