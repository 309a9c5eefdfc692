package table

import (
	"strings"
	"time"

	"runner/ledger"
)

// RecordColumns are in the order that Entry reads them, of record r.
const RecordColumns = `r.id, r.batch_id, r.biz_id, r.status, r.attempts, r.fence, r.generation, r.phase,
r.act_fence, r.comp_fence, r.run_no, r.started_at, r.ended_at, r.not_before, r.delay, r.later_since,
r.ask_first, r.suspect, r.exit_code, r.detail, r.result, r.error, r.payload`

// RunNoOf is the position of run_no in RecordColumns.
const RunNoOf = 10

// Entry reads RecordColumns. Names of batch and run, which the row has as
// numbers, are left to the store.
func Entry(row []any) ledger.Entry {
	return ledger.Entry{
		ID:         Integer(row[0]),
		BatchID:    Integer(row[1]),
		Key:        ledger.Key{BizID: Str(row[2])},
		Status:     ledger.Status(Integer(row[3])),
		Attempts:   int(Integer(row[4])),
		Fence:      Integer(row[5]),
		Generation: int(Integer(row[6])),
		Phase:      ledger.Phase(Integer(row[7])),
		ActFence:   Integer(row[8]),
		CompFence:  Integer(row[9]),
		StartedAt:  Instant(row[11]),
		EndedAt:    Instant(row[12]),
		NotBefore:  Instant(row[13]),
		Delay:      time.Duration(Integer(row[14])),
		LaterSince: Instant(row[15]),
		AskFirst:   Integer(row[16]) != 0,
		Suspect:    Integer(row[17]) != 0,
		ExitCode:   ExitCodeOf(row[18]),
		Detail:     Str(row[19]),
		Result:     Str(row[20]),
		Error:      Str(row[21]),
		Payload:    Bytes(row[22]),
	}
}

// SelectAttempts gives the stored story of record $1.
const SelectAttempts = `SELECT a.record_id, a.fence, a.phase, a.generation, a.number, a.run_no, a.actor, a.started_at, a.ended_at,
a.status, a.detail, a.result, a.exit_code, a.error, a.late, a.late_detail, a.late_at, o.text
FROM attempt a LEFT JOIN output o ON o.record_id = a.record_id AND o.fence = a.fence
WHERE a.record_id = $1 ORDER BY a.fence`

// SelectStories gives the stored stories of records $1, an array.
var SelectStories = strings.Replace(SelectAttempts, "a.record_id = $1 ORDER BY a.fence", "a.record_id = ANY($1) ORDER BY a.record_id, a.fence", 1)

// AttemptRunNo is the position of run_no in SelectAttempts.
const AttemptRunNo = 5

// Attempt reads a row of SelectAttempts, but for the run's name.
func Attempt(row []any) ledger.Attempt {
	return ledger.Attempt{
		RecordID:   Integer(row[0]),
		Fence:      Integer(row[1]),
		Phase:      ledger.Phase(Integer(row[2])),
		Generation: int(Integer(row[3])),
		Number:     int(Integer(row[4])),
		Actor:      Str(row[6]),
		StartedAt:  Instant(row[7]),
		EndedAt:    Instant(row[8]),
		Status:     ledger.Status(Integer(row[9])),
		Detail:     Str(row[10]),
		Result:     Str(row[11]),
		ExitCode:   ExitCodeOf(row[12]),
		Error:      Str(row[13]),
		Late:       Str(row[14]),
		LateDetail: Str(row[15]),
		LateAt:     Instant(row[16]),
		Output:     Str(row[17]),
	}
}

// InsertOutput adds the output of a new line of a story; it goes before that.
const InsertOutput = `INSERT INTO output(record_id, fence, text) SELECT $1, $2, $3
WHERE NOT EXISTS (SELECT 1 FROM attempt WHERE record_id = $1 AND fence = $2)`

// InsertAttempt adds a line to a story. Of one that is there, only the Late
// columns are filled, together and once.
const InsertAttempt = `INSERT INTO attempt(record_id, fence, phase, generation, number, run_no, actor, started_at, ended_at,
status, detail, result, exit_code, error, late, late_detail, late_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
ON CONFLICT (record_id, fence) DO UPDATE
SET late = excluded.late, late_detail = excluded.late_detail, late_at = excluded.late_at
WHERE attempt.late IS NULL AND excluded.late IS NOT NULL`

// AttemptValues are the arguments of InsertAttempt. run is a run.no or nil.
func AttemptValues(a *ledger.Attempt, run any) []any {
	return []any{a.RecordID, a.Fence, int64(a.Phase), int64(a.Generation), int64(a.Number), run, OrNull(a.Actor),
		Micros(a.StartedAt), Micros(a.EndedAt), int64(a.Status), OrNull(a.Detail), OrNull(a.Result),
		ExitCode(a.ExitCode), OrNull(a.Error), OrNull(a.Late), OrNull(a.LateDetail), Micros(a.LateAt)}
}
