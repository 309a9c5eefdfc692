package sqlite

import (
	"database/sql/driver"
	"time"

	"runner/ledger"
)

// recordColumns are in the order that entry reads them.
const recordColumns = `r.id, r.batch_id, r.biz_id, r.status, r.attempts, r.fence, r.generation, r.phase,
r.act_fence, r.comp_fence, r.run_no, r.started_at, r.ended_at, r.not_before, r.delay, r.later_since,
r.ask_first, r.suspect, r.exit_code, r.detail, r.result, r.error, r.payload`

func (c *conn) entry(row []driver.Value) (ledger.Entry, error) {
	e := ledger.Entry{
		ID:         integer(row[0]),
		BatchID:    integer(row[1]),
		Status:     ledger.Status(integer(row[3])),
		Attempts:   int(integer(row[4])),
		Fence:      integer(row[5]),
		Generation: int(integer(row[6])),
		Phase:      ledger.Phase(integer(row[7])),
		ActFence:   integer(row[8]),
		CompFence:  integer(row[9]),
		StartedAt:  instant(row[11]),
		EndedAt:    instant(row[12]),
		NotBefore:  instant(row[13]),
		Delay:      time.Duration(integer(row[14])),
		LaterSince: instant(row[15]),
		AskFirst:   integer(row[16]) != 0,
		Suspect:    integer(row[17]) != 0,
		ExitCode:   exitCodeOf(row[18]),
		Detail:     str(row[19]),
		Result:     str(row[20]),
		Error:      str(row[21]),
		Payload:    bytesOf(row[22]),
	}
	b, err := c.batchName(e.BatchID)
	if err != nil {
		return e, err
	}
	e.Key = ledger.Key{TaskName: b.Task, BizID: str(row[2]), ExecuteDate: b.Date}
	e.RunID, err = c.runID(row[10])
	return e, err
}

// attemptColumns are in the order that attempt reads them.
const attemptColumns = `a.record_id, a.fence, a.phase, a.generation, a.number, a.run_no, a.actor, a.started_at, a.ended_at,
a.status, a.detail, a.result, a.exit_code, a.error, a.late, a.late_detail, a.late_at, o.text`

func (c *conn) attempt(row []driver.Value) (a ledger.Attempt, err error) {
	a = ledger.Attempt{
		RecordID:   integer(row[0]),
		Fence:      integer(row[1]),
		Phase:      ledger.Phase(integer(row[2])),
		Generation: int(integer(row[3])),
		Number:     int(integer(row[4])),
		Actor:      str(row[6]),
		StartedAt:  instant(row[7]),
		EndedAt:    instant(row[8]),
		Status:     ledger.Status(integer(row[9])),
		Detail:     str(row[10]),
		Result:     str(row[11]),
		ExitCode:   exitCodeOf(row[12]),
		Error:      str(row[13]),
		Late:       str(row[14]),
		LateDetail: str(row[15]),
		LateAt:     instant(row[16]),
		Output:     str(row[17]),
	}
	a.RunID, err = c.runID(row[5])
	return a, err
}

// batchColumns are in the order that batch reads them.
const batchColumns = `id, task_name, execute_date, first_id, last_id,
n_pending, n_running, n_done, n_failed, n_in_doubt, n_skipped,
open_plan_run, paused_until, halted_at, halt_reason, sealed_at, created_at, sealed_in, sealed_sum`

func batch(row []driver.Value) ledger.Batch {
	b := ledger.Batch{
		ID:          integer(row[0]),
		TaskName:    str(row[1]),
		ExecuteDate: str(row[2]),
		FirstID:     integer(row[3]),
		LastID:      integer(row[4]),
		OpenPlanRun: str(row[11]),
		PausedUntil: instant(row[12]),
		HaltedAt:    instant(row[13]),
		HaltReason:  str(row[14]),
		SealedAt:    instant(row[15]),
		CreatedAt:   instant(row[16]),
		SealedIn:    str(row[17]),
		SealedSum:   str(row[18]),
	}
	for i := range b.Counts {
		b.Counts[i] = integer(row[5+i])
	}
	return b
}
