package ledger

import (
	"context"
	"time"
)

// Store keeps a ledger. It knows no rules: what to write is decided above it.
//
// To add a store: implement Store, Reader and Tx, and run ledgertest.Run on
// it. That suite is the contract; the comments here name its errors.
type Store interface {
	// ID is the ledger's own UUID, made when it was created.
	ID() string
	// View runs fn on one consistent snapshot. Keep it short: a long reader
	// holds up checkpoints, or vacuum. Where the snapshot is lost in the middle,
	// fn may be called again from the start, on another one.
	View(ctx context.Context, fn func(Reader) error) error
	// Update runs fn in one write transaction that is durable when Update
	// returns nil. If fn fails, nothing is written and its error is returned.
	// fn may be called again from the start, on another Tx, and must not keep
	// what it did before.
	// ctx limits the wait for the start; once begun, it is not cancelled.
	Update(ctx context.Context, fn func(Tx) error) error
	// Close waits for what is under way.
	Close() error
}

// Clock is a store whose database has a clock that all its users share.
type Clock interface {
	// Now is the time by that clock, UTC.
	Now() time.Time
}

// Reader reads within one snapshot.
type Reader interface {
	// Batch fails with ErrNotFound.
	Batch(task, date string) (Batch, error)
	// Batches lists those that match, by date and then task; empty matches all.
	Batches(task, date string) ([]Batch, error)
	// Find says for each input, in order, what a batch holds. It compares
	// payloads as bytes; a nil payload equals only a nil payload.
	Find(batch int64, in []Input) ([]Known, error)
	// Get gives the records that exist, in the order of ids.
	Get(ids []int64) ([]Entry, error)
	// Count counts the statuses of those that exist.
	Count(ids []int64) (Counts, error)
	// List gives at most q.Limit records, newest first.
	List(q Query) ([]Entry, error)
	// Attempts gives the stored story of a record in the order of fences.
	Attempts(record int64) ([]Attempt, error)
	// Stories is Attempts for several records whose numbers rise, by record
	// and fence.
	Stories(records []int64) ([]Attempt, error)
	// Meta is what the ledger says of itself under a key; empty if nothing.
	Meta(key string) (string, error)
	// Runs lists those that match, newest first.
	Runs(q RunQuery) ([]Run, error)
}

// Tx reads and writes within one transaction. Where others may write at the
// same time, what it reads can be out of date: Swap and PutBatch see to it
// that nothing is built on that.
type Tx interface {
	Reader
	// Lock reads the batch of a run and, as Get does, records that the run is
	// about to claim. Those that are running, or that another transaction is
	// changing at this moment, may come as busy instead: they aren't waited
	// for. Where others may take a run for dead, it fails with *UnusableError
	// once they have, and until the transaction ends they don't.
	Lock(run Run, ids []int64) (b Batch, free []Entry, busy []int64, err error)
	// PutBatch writes a batch, without its counts, FirstID and LastID, which
	// the store keeps itself. With ID 0 it inserts it if there is none for
	// its task and date, and in any case sets ID. If another transaction has
	// written the batch since this one read it, this one is run again.
	PutBatch(b *Batch) error
	// Insert adds, as pending, the inputs that the batch doesn't hold yet, and
	// says how many that were. Their numbers rise in the order given. It
	// fails with ErrSealed.
	Insert(batch int64, in []Input) (int64, error)
	// Swap writes changes. If a record hasn't the old status and fence of its
	// change any more, all of the transaction is undone with ErrRaced, maybe
	// not before its commit.
	Swap(changes []Change) error
	// AddAttempts adds lines to stories. Where a line exists for a record
	// and fence, only its empty Late fields are filled.
	AddAttempts(a []Attempt) error
	// PutMeta keeps a value for Meta; an empty one takes no room.
	PutMeta(key, value string) error
	// PutRun inserts a run (No 0; sets No) or updates it.
	PutRun(r *Run) error
	// Forget removes the first records of a batch whose numbers are above
	// after, at most limit of them, with their stories. The counters of the
	// batch stay as they are. last is the highest number removed, 0 if there
	// was none left.
	Forget(batch, after int64, limit int) (last int64, err error)
	// Recall puts back records that were forgotten, with their numbers, but
	// for those that are there. The counters stay as they are.
	Recall(records []Entry) error
}

// Shrinker is a store that can give the room of what was removed back to the
// system.
type Shrinker interface {
	// Shrink gives back what it can in transactions as short as those of a run.
	// alone says that no run is alive, so that others may be kept waiting. note
	// says what was left, and why; it may be empty.
	Shrink(ctx context.Context, alone bool) (note string, err error)
}

// Remover is a store that may be used without the right to remove records.
type Remover interface {
	// MayForget fails with *UnusableError if that right is missing.
	MayForget(ctx context.Context) error
}

// Change replaces one state of a record by another.
type Change struct {
	Old, New Entry
}

// Query selects records. Zero values select all.
type Query struct {
	TaskName    string
	ExecuteDate string
	Statuses    []Status
	BizIDs      []string  // any of these
	BizPrefix   string    // starts with
	RunID       string    // claimed last by
	Since       time.Time // started or ended at or after
	Before      int64     // record numbers below this: the cursor
	After       int64     // record numbers above this
	Ascending   bool      // oldest first
	Waiting     bool      // with a NotBefore, soonest first whatever the numbers
	Longest     bool      // with both times, those that took longest first; no index helps, so bound it by numbers
	Limit       int       // 0: no limit
}

// RunQuery selects runs. Zero values select all.
type RunQuery struct {
	ID          string
	IDPart      string // its id starts or ends with this
	TaskName    string
	ExecuteDate string
	OpenOnly    bool  // not ended
	Before      int64 // Run.No below this: the cursor
	Limit       int
}
