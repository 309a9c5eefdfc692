package table

import "runner/ledger"

// BatchColumns are in the order that Batch reads them.
const BatchColumns = `id, task_name, execute_date, first_id, last_id,
n_pending, n_running, n_done, n_failed, n_in_doubt, n_skipped,
open_plan_run, paused_until, halted_at, halt_reason, sealed_at, created_at, sealed_in, sealed_sum`

// Batch reads BatchColumns.
func Batch(row []any) ledger.Batch {
	b := ledger.Batch{
		ID:          Integer(row[0]),
		TaskName:    Str(row[1]),
		ExecuteDate: Str(row[2]),
		FirstID:     Integer(row[3]),
		LastID:      Integer(row[4]),
		OpenPlanRun: Str(row[11]),
		PausedUntil: Instant(row[12]),
		HaltedAt:    Instant(row[13]),
		HaltReason:  Str(row[14]),
		SealedAt:    Instant(row[15]),
		CreatedAt:   Instant(row[16]),
		SealedIn:    Str(row[17]),
		SealedSum:   Str(row[18]),
	}
	for i := range b.Counts {
		b.Counts[i] = Integer(row[5+i])
	}
	return b
}

// InsertBatch takes BatchValues after task name and date.
const InsertBatch = `INSERT INTO batch(task_name, execute_date, open_plan_run, paused_until, halted_at, halt_reason,
sealed_at, created_at, sealed_in, sealed_sum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`

// SelectBatchID finds a batch by task name and date.
const SelectBatchID = `SELECT id FROM batch WHERE task_name = $1 AND execute_date = $2`

// SelectBatchName gives task name and date of batch $1.
const SelectBatchName = `SELECT task_name, execute_date FROM batch WHERE id = $1`

// BatchValues are what PutBatch writes, after first.
func BatchValues(b *ledger.Batch, first ...any) []any {
	return append(first, OrNull(b.OpenPlanRun), Micros(b.PausedUntil), Micros(b.HaltedAt), OrNull(b.HaltReason),
		Micros(b.SealedAt), Micros(b.CreatedAt), OrNull(b.SealedIn), OrNull(b.SealedSum))
}

// BatchesWhere gives the conditions of a list of batches.
func BatchesWhere(task, date string) (w Where) {
	w.AddIf(task != "", "task_name = ?", task)
	w.AddIf(date != "", "execute_date = ?", date)
	return w
}
