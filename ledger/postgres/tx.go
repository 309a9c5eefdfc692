package postgres

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"runner/ledger"
	"runner/ledger/internal/table"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tx writes within one transaction.
type tx struct {
	reader
	deltas    map[int64]*delta         // by batch; written with the commit
	revisions map[int64]int64          // of the batches it has read
	absent    map[table.BatchName]bool // batches that it looked for, and that weren't there
	planning  map[int64]bool           // batches whose planners wait for it
	runs      map[string]int64         // numbers of the runs that its changes name
	trace     step                     // asks whether it took effect; empty: nothing would tell
	claims    bool                     // and the trace is a claim
}

// delta is what a transaction changes in the counters of a batch.
type delta struct {
	counts      ledger.Counts
	first, last int64 // of the records inserted
}

func newTx(r reader) *tx {
	t := &tx{reader: r, deltas: map[int64]*delta{}, revisions: map[int64]int64{}, absent: map[table.BatchName]bool{}, planning: map[int64]bool{}, runs: map[string]int64{}}
	t.see = t.withDelta
	return t
}

func (t *tx) delta(batch int64) *delta {
	d := t.deltas[batch]
	if d == nil {
		d = &delta{}
		t.deltas[batch] = d
	}
	return d
}

// withDelta adds to a batch what isn't written yet, so that reading it needs
// no lock on it.
func (t *tx) withDelta(row []any, b *ledger.Batch) {
	t.revisions[b.ID] = table.Integer(row[len(row)-1])
	d := t.deltas[b.ID]
	if d == nil {
		return
	}
	b.Counts.Add(d.counts)
	if d.first != 0 {
		if b.FirstID == 0 || d.first < b.FirstID {
			b.FirstID = d.first
		}
		b.LastID = max(b.LastID, d.last)
	}
}

const flushSQL = `UPDATE batch SET first_id = least(first_id, $2), last_id = greatest(last_id, $3),
n_pending = n_pending + $4, n_running = n_running + $5, n_done = n_done + $6,
n_failed = n_failed + $7, n_in_doubt = n_in_doubt + $8, n_skipped = n_skipped + $9 WHERE id = $1`

// flushPlannedSQL is flushSQL where records were added: whoever seals the batch
// meanwhile is told by its revision, and whoever has sealed it is respected.
var flushPlannedSQL = "WITH u AS (" +
	strings.Replace(flushSQL, " WHERE id = $1", ", revision = revision + 1 WHERE id = $1 AND sealed_at IS NULL", 1) +
	" RETURNING id) SELECT " + failIf("count(*) = 0", sealedText) + " FROM u"

// flush gives the statements that add the deltas, in the order in which all
// transactions lock batches. They go with the commit, so what is wrong with one
// must be an error of the server's: nobody here could stop it any more.
func (t *tx) flush() (steps []step) {
	for _, id := range slices.Sorted(maps.Keys(t.deltas)) {
		d := t.deltas[id]
		args := []any{id, table.NullZero(d.first), table.NullZero(d.last)}
		for _, n := range d.counts {
			args = append(args, n)
		}
		s := step{sql: flushSQL, args: args}
		if d.first != 0 {
			s.sql = flushPlannedSQL
		}
		steps = append(steps, s)
	}
	return steps
}

// Batch remembers a batch that isn't there: whoever makes it meanwhile makes
// this transaction start again.
func (t *tx) Batch(task, date string) (ledger.Batch, error) {
	b, err := t.reader.Batch(task, date)
	if errors.Is(err, ledger.ErrNotFound) {
		t.absent[table.BatchName{Task: task, Date: date}] = true
	}
	return b, err
}

// updateBatchSQL writes only over what this transaction has read, if it has
// read the batch at all.
const updateBatchSQL = `UPDATE batch SET open_plan_run = $2, paused_until = $3, halted_at = $4, halt_reason = $5,
sealed_at = $6, created_at = $7, sealed_in = $8, sealed_sum = $9, revision = revision + 1
WHERE id = $1 AND revision = coalesce($10, revision)`

// PutBatch writes a batch. With ID 0, one that is there already is left as it
// is, and only b.ID is set.
func (t *tx) PutBatch(b *ledger.Batch) error {
	if b.ID == 0 {
		return t.insertBatch(b)
	}
	var revision any
	seen, ok := t.revisions[b.ID]
	if ok {
		revision = seen
	}
	return t.do(step{sql: updateBatchSQL, args: append(table.BatchValues(b, b.ID), revision), done: func(tag pgconn.CommandTag) error {
		switch {
		case tag.RowsAffected() > 0:
			if ok {
				t.revisions[b.ID]++
			}
			return nil
		case ok:
			return ledger.ErrRaced
		}
		return fmt.Errorf("batch %d: %w", b.ID, ledger.ErrNotFound)
	}})
}

func (t *tx) insertBatch(b *ledger.Batch) error {
	wasAbsent := t.absent[table.BatchName{Task: b.TaskName, Date: b.ExecuteDate}]
	return t.do(
		step{sql: table.InsertBatch, args: table.BatchValues(b, b.TaskName, b.ExecuteDate), done: func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 && wasAbsent {
				return ledger.ErrRaced
			}
			return nil
		}},
		step{sql: table.SelectBatchID, args: []any{b.TaskName, b.ExecuteDate}, rows: into(&b.ID)})
}

// lockPlan makes planners of one batch take turns: two that insert the same
// keys in another order would wait for each other.
const lockPlan = "SELECT pg_advisory_xact_lock(1920298610, $1)" // "runr"

const insertSQL = `WITH ins AS (
INSERT INTO record(batch_id, biz_id, payload) SELECT $1, j.k, j.p FROM unnest($2::text[], $3::text[]) WITH ORDINALITY j(k, p, n)
ORDER BY j.n ON CONFLICT DO NOTHING RETURNING id)
SELECT count(*), coalesce(min(id), 0), coalesce(max(id), 0) FROM ins`

const isSealedSQL = "SELECT sealed_at IS NOT NULL FROM batch WHERE id = $1"

func refuseSealed(batch int64) func(pgx.Rows) error {
	return func(r pgx.Rows) error {
		var sealed bool
		err := r.Scan(&sealed)
		if err == nil && sealed {
			err = fmt.Errorf("batch %d: %w", batch, ledger.ErrSealed)
		}
		return err
	}
}

// Insert gives numbers in the order of the inputs. One that is there already
// takes a number too, which then stands for nothing.
func (t *tx) Insert(batch int64, in []ledger.Input) (added int64, err error) {
	if err := t.fail(t.c.know(t.ctx, []int64{batch}, nil)); err != nil {
		return 0, err
	}
	if _, err := t.c.batchName(batch); err != nil {
		return 0, t.fail(err)
	}
	if !t.planning[batch] {
		t.c.later(step{sql: lockPlan, args: []any{batch}})
		t.planning[batch] = true
	}
	d := t.delta(batch)
	for part := range slices.Chunk(in, chunk) {
		keys, payloads := columns(part)
		var n, first, last int64
		if err := t.do(step{sql: isSealedSQL, args: []any{batch}, rows: refuseSealed(batch)}, step{sql: insertSQL, args: []any{batch, keys, payloads}, rows: into(&n, &first, &last)}); err != nil {
			return added, err
		}
		if n == 0 {
			continue
		}
		added += n
		d.counts[ledger.Pending] += n
		if d.first == 0 || first < d.first {
			d.first = first
		}
		d.last = max(d.last, last)
	}
	return added, nil
}

// AddAttempts adds lines, and the output of new ones only: a line, and what
// belongs to it, is never replaced. They go with the next statement.
func (t *tx) AddAttempts(attempts []ledger.Attempt) error {
	for i := range attempts {
		a := &attempts[i]
		run, err := t.c.runNo(t.ctx, a.RunID)
		if err != nil {
			return t.fail(err)
		}
		if a.Output != "" {
			t.c.later(step{sql: table.InsertOutput, args: []any{a.RecordID, a.Fence, a.Output}})
		}
		t.c.later(step{sql: table.InsertAttempt, args: table.AttemptValues(a, run)})
	}
	return t.err
}

// PutRun inserts a run or updates it.
func (t *tx) PutRun(r *ledger.Run) error {
	query, args := table.InsertRun, table.RunValues(r)
	if r.No != 0 {
		query, args = table.UpdateRun, append(args, r.No)
	}
	steps := []step{{sql: query, args: args, done: func(tag pgconn.CommandTag) error {
		switch {
		case tag.RowsAffected() > 0:
			return nil
		case r.No != 0:
			return fmt.Errorf("run %d: %w", r.No, ledger.ErrNotFound)
		}
		return fmt.Errorf("run %s is in the ledger already", r.ID)
	}}}
	no := r.No
	if no == 0 {
		steps = append(steps, step{sql: firstLeaseSQL, args: []any{r.ID, r.Lease.Microseconds()}, rows: into(&no)})
		t.trace = step{sql: "SELECT count(*) > 0 FROM run WHERE id = $1", args: []any{r.ID}}
	}
	if err := t.do(steps...); err != nil {
		return err
	}
	r.No = no
	return nil
}
