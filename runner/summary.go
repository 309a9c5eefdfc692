package runner

import (
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"runner/ledger"
)

// ResultWord is the verdict on a run as a whole; a word of the interface.
type ResultWord string

// The results of a run.
const (
	Complete    ResultWord = "complete"     // everything in scope is done or skipped
	Partial     ResultWord = "partial"      // as far as the limit allowed
	SomeFailed  ResultWord = "failed"       // some records failed, now or earlier
	SomeInDoubt ResultWord = "in_doubt"     // some records need a person
	Halted      ResultWord = "halted"       // its action can't be started
	IsBusy      ResultWord = "busy"         // another run, or a survivor, holds records
	IsWaiting   ResultWord = "waiting"      // records wait for a later time
	Blocked     ResultWord = "blocked"      // a task that this one needs is not complete
	Interrupted ResultWord = "interrupted"  // told to stop
	DryRun      ResultWord = "dry_run"      // nothing was done
	Invalid     ResultWord = "invalid"      // usage, configuration or input
	LedgerError ResultWord = "ledger_error" // the ledger can't be used
)

// Summary tells how a run went.
type Summary struct {
	RunID       string
	TaskName    string
	ExecuteDate string
	TimeZone    string
	Result      ResultWord
	Error       string
	Planned     int64 // records in scope
	New         int64 // of them not known before
	Changed     int64 // of them known with another payload
	Absent      int64 // records of the batch that the input doesn't hold
	Duplicates  int64 // exact repeats in the input
	Executed    int64 // attempts started by this run
	Begun       int64 // records claimed by this run
	AlreadyDone int64 // of the scope, done before this run
	Counts      ledger.Counts
	HeldBy      []string // runs that hold records of the scope
	PausedUntil time.Time
	StartedAt   time.Time
	EndedAt     time.Time

	Survivors  []Survivor
	NextDue    time.Time      // of the records that wait
	Troubled   []ledger.Entry // the first few that failed or are in doubt
	LateEnds   int64          // certain outcomes that came too late to settle their record
	HaltReason string
	Unwritten  []Unwritten // outcomes that could be written neither to the ledger nor to the run file
	Yielded    bool        // busy, and content: overlap is skip

	scope *roaring64.Bitmap
}

// Holds tells whether a record was in the scope of the run, by its number.
func (s Summary) Holds(record int64) bool {
	return s.scope != nil && s.scope.Contains(uint64(record))
}

// Unwritten is an outcome that only this process knows of.
type Unwritten struct {
	ledger.Key
	Report ledger.Report
}

// maxTroubled is how many records a summary tells by name.
const maxTroubled = 10
