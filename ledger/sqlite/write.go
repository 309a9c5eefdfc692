package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"

	"runner/ledger"
	"runner/ledger/internal/table"
)

// tx writes within one transaction.
type tx struct {
	reader
	deltas map[int64]*delta // by batch; written once, before the commit
	err    error            // the first failed write; nothing is committed after it
}

// delta is what a transaction changes in the counters of a batch.
type delta struct {
	counts      ledger.Counts
	first, last int64 // of the records inserted
}

func (t *tx) delta(batch int64) *delta {
	d := t.deltas[batch]
	if d == nil {
		d = &delta{}
		t.deltas[batch] = d
	}
	return d
}

// fail keeps an error, so that a caller who overlooks it commits nothing.
func (t *tx) fail(err error) error {
	if t.err == nil {
		t.err = err
	}
	return err
}

func (t *tx) finish() error {
	if t.err != nil {
		return t.err
	}
	return t.flush()
}

// flush adds the deltas to the batches. A trigger for each row would nearly
// double the cost of a claim.
func (t *tx) flush() error {
	for id, d := range t.deltas {
		args := []driver.Value{id, nullZero(d.first), nullZero(d.last)}
		for _, n := range d.counts {
			args = append(args, n)
		}
		_, err := t.c.exec(`UPDATE batch SET first_id = coalesce(first_id, $2), last_id = coalesce($3, last_id),
			n_pending = n_pending + $4, n_running = n_running + $5, n_done = n_done + $6,
			n_failed = n_failed + $7, n_in_doubt = n_in_doubt + $8, n_skipped = n_skipped + $9
			WHERE id = $1`, args...)
		if err != nil {
			return t.fail(err)
		}
	}
	clear(t.deltas)
	return nil
}

// Lock only reads: nobody else writes during a transaction.
func (t *tx) Lock(run ledger.Run, ids []int64) (b ledger.Batch, free []ledger.Entry, busy []int64, err error) {
	if b, err = t.Batch(run.TaskName, run.ExecuteDate); err == nil {
		free, err = t.Get(ids)
	}
	return b, free, nil, err
}

// PutBatch writes a batch. With ID 0, one that is there already is left as it
// is, and only b.ID is set.
func (t *tx) PutBatch(b *ledger.Batch) error {
	if b.ID == 0 {
		return t.insertBatch(b)
	}
	r, err := t.c.exec(`UPDATE batch SET open_plan_run = $2, paused_until = $3, halted_at = $4, halt_reason = $5,
		sealed_at = $6, created_at = $7, sealed_in = $8, sealed_sum = $9 WHERE id = $1`, batchArgs(b, b.ID)...)
	if err != nil {
		return t.fail(err)
	}
	if n, _ := r.RowsAffected(); n == 0 {
		return t.fail(fmt.Errorf("batch %d: %w", b.ID, ledger.ErrNotFound))
	}
	return nil
}

func (t *tx) insertBatch(b *ledger.Batch) error {
	_, err := t.c.exec(`INSERT INTO batch(task_name, execute_date, open_plan_run, paused_until, halted_at, halt_reason,
		sealed_at, created_at, sealed_in, sealed_sum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
		batchArgs(b, b.TaskName, b.ExecuteDate)...)
	if err == nil {
		b.ID, err = t.c.number("SELECT id FROM batch WHERE task_name = $1 AND execute_date = $2", b.TaskName, b.ExecuteDate)
	}
	if err != nil {
		return t.fail(err)
	}
	return nil
}

func batchArgs(b *ledger.Batch, first ...driver.Value) []driver.Value {
	return append(first, orNull(b.OpenPlanRun), micros(b.PausedUntil), micros(b.HaltedAt), orNull(b.HaltReason),
		micros(b.SealedAt), micros(b.CreatedAt), orNull(b.SealedIn), orNull(b.SealedSum))
}

// Insert adds a chunk with one statement: json_each yields the inputs in
// their order, so the numbers rise in it. OR FAIL spares SQLite a copy of
// each page that the statement touches, which it would need to undo half a
// statement: a failure undoes the whole transaction here (see fail). With
// random keys that is nearly half of the time.
func (t *tx) Insert(batch int64, in []ledger.Input) (added int64, err error) {
	if _, err := t.c.batchName(batch); err != nil {
		return 0, t.fail(err)
	}
	sealed, err := t.c.number("SELECT sealed_at FROM batch WHERE id = $1", batch)
	if err == nil && sealed != 0 {
		err = fmt.Errorf("batch %d: %w", batch, ledger.ErrSealed)
	}
	if err != nil {
		return 0, t.fail(err)
	}
	d := t.delta(batch)
	top, err := t.c.number("SELECT max(id) FROM record")
	if err != nil {
		return 0, t.fail(err)
	}
	var buf []byte
	for part := range slices.Chunk(in, chunk) {
		buf = appendInputs(buf[:0], part)
		r, err := t.c.exec(`INSERT OR FAIL INTO record(batch_id, biz_id, payload)
			SELECT $1, j.key, j.value FROM json_each($2) j WHERE true ON CONFLICT DO NOTHING`, batch, string(buf))
		if err != nil {
			return 0, t.fail(err)
		}
		n, _ := r.RowsAffected()
		if n == 0 {
			continue
		}
		added += n
		d.last, _ = r.LastInsertId()
		d.counts[ledger.Pending] += n
	}
	if added > 0 && d.first == 0 {
		if d.first, err = t.c.number("SELECT min(id) FROM record WHERE id > $1", top); err != nil {
			return 0, t.fail(err)
		}
	}
	return added, nil
}

// AddAttempts adds lines, and the output of new ones only: a line, and what
// belongs to it, is never replaced. The three Late fields are filled together.
func (t *tx) AddAttempts(attempts []ledger.Attempt) error {
	for i := range attempts {
		if err := t.addAttempt(&attempts[i]); err != nil {
			return t.fail(err)
		}
	}
	return nil
}

func (t *tx) addAttempt(a *ledger.Attempt) error {
	run, err := t.c.runNo(a.RunID)
	if err != nil {
		return err
	}
	if a.Output != "" {
		_, err := t.c.exec(`INSERT INTO output(record_id, fence, text) SELECT $1, $2, $3
			WHERE NOT EXISTS (SELECT 1 FROM attempt WHERE record_id = $1 AND fence = $2)`, a.RecordID, a.Fence, a.Output)
		if err != nil {
			return err
		}
	}
	_, err = t.c.exec(`INSERT INTO attempt(record_id, fence, phase, generation, number, run_no, actor, started_at, ended_at,
		status, detail, result, exit_code, error, late, late_detail, late_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
		ON CONFLICT (record_id, fence) DO UPDATE
		SET late = excluded.late, late_detail = excluded.late_detail, late_at = excluded.late_at
		WHERE attempt.late IS NULL AND excluded.late IS NOT NULL`,
		a.RecordID, a.Fence, int64(a.Phase), int64(a.Generation), int64(a.Number), run, orNull(a.Actor),
		micros(a.StartedAt), micros(a.EndedAt), int64(a.Status), orNull(a.Detail), orNull(a.Result),
		exitCode(a.ExitCode), orNull(a.Error), orNull(a.Late), orNull(a.LateDetail), micros(a.LateAt))
	return err
}

func (t *tx) PutRun(r *ledger.Run) error {
	query, args := table.InsertRun, driverValues(table.RunValues(r))
	if r.No != 0 {
		query, args = table.UpdateRun, append(args, r.No)
	}
	res, err := t.c.exec(query, args...)
	if err != nil {
		return t.fail(err)
	}
	n, _ := res.RowsAffected()
	switch {
	case n == 0 && r.No != 0:
		return t.fail(fmt.Errorf("run %d: %w", r.No, ledger.ErrNotFound))
	case n == 0:
		return t.fail(fmt.Errorf("run %s is in the ledger already", r.ID))
	case r.No == 0:
		if r.No, err = t.c.knownRunNo(r.ID); err != nil {
			return t.fail(err)
		}
	}
	return nil
}
