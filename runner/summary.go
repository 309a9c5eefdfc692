package runner

import (
	"encoding/json"
	"time"

	"runner/ledger"
)

// Verdict on a run as a whole; a word of the interface.
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
	Interrupted ResultWord = "interrupted"  // told to stop
	DryRun      ResultWord = "dry_run"      // nothing was done
	Invalid     ResultWord = "invalid"      // usage, configuration or input
	LedgerError ResultWord = "ledger_error" // the ledger can't be used
)

// Summary tells how a run went. Its JSON is an interface: it only grows.
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
}

// maxTroubled is how many records a summary tells by name.
const maxTroubled = 10

// MarshalJSON writes the names that section 7 of the design promises.
func (s Summary) MarshalJSON() ([]byte, error) {
	counts := make(map[string]int64, len(ledger.Statuses))
	for _, st := range ledger.Statuses {
		counts[st.String()] = s.Counts[st]
	}
	return json.Marshal(struct {
		RunID       *string          `json:"run_id"`
		TaskName    string           `json:"task_name"`
		ExecuteDate string           `json:"execute_date"`
		TimeZone    string           `json:"time_zone"`
		Result      ResultWord       `json:"result"`
		Error       string           `json:"error,omitempty"`
		Planned     int64            `json:"planned"`
		New         int64            `json:"new"`
		Changed     int64            `json:"changed"`
		Absent      int64            `json:"absent"`
		Duplicates  int64            `json:"duplicates"`
		Executed    int64            `json:"executed"`
		AlreadyDone int64            `json:"already_done"`
		Counts      map[string]int64 `json:"counts"`
		HeldBy      []string         `json:"held_by"`
		PausedUntil *string          `json:"paused_until"`
		StartedAt   *string          `json:"started_at"`
		EndedAt     *string          `json:"ended_at"`
		DurationMS  int64            `json:"duration_ms"`
	}{
		filled(s.RunID), s.TaskName, s.ExecuteDate, s.TimeZone, s.Result, s.Error, s.Planned, s.New, s.Changed, s.Absent,
		s.Duplicates, s.Executed, s.AlreadyDone, counts, append([]string{}, s.HeldBy...), Stamp(s.PausedUntil), Stamp(s.StartedAt), Stamp(s.EndedAt),
		s.EndedAt.Sub(s.StartedAt).Milliseconds(),
	})
}

func filled(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// TimeFormat is how times are written in JSON: RFC 3339 UTC with milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Stamp writes a time for JSON; nil for never.
func Stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(TimeFormat)
	return &s
}
