package postgres

import (
	"cmp"
	"slices"

	"runner/ledger"

	"github.com/jackc/pgx/v5"
)

// lockSQL answers with one row of arrays: a row for each record costs more
// than to find it. Running records are left out: to lock what another run
// holds would make it wait, and the two for each other.
const lockSQL = `SELECT array_agg(t.id), array_agg(t.batch_id), array_agg(t.fence), array_agg(t.biz_id), array_agg(t.payload),
coalesce((SELECT u.ended_at IS NOT NULL OR u.condemned_at IS NOT NULL FROM run u WHERE u.id = $2), false) FROM (
SELECT r.id, r.batch_id, r.fence, r.biz_id, r.payload FROM unnest($1::bigint[]) WITH ORDINALITY j(id, n)
JOIN record r ON r.id = j.id WHERE r.status <> 1 ORDER BY j.n FOR NO KEY UPDATE OF r SKIP LOCKED) t`

// stayAlive keeps others from condemning a run until this transaction ends:
// its commit may be late, after the lease. A statement of its own, as the next
// one must see what was committed before.
const stayAlive = "SELECT pg_advisory_xact_lock_shared(" + aliveClass + ", hashtext($1))"

// aliveClass is the class of the advisory locks by which runs are kept alive.
const aliveClass = "1920298611"

// Lock asks for the batch and the records at once. Most records were never
// touched, and all there is to read of such a one is its key and its payload.
func (t *tx) Lock(run ledger.Run, ids []int64) (b ledger.Batch, free []ledger.Entry, busy []int64, err error) {
	var found []ledger.Batch
	t.c.later(t.readBatches(selectBatchOf, []any{run.TaskName, run.ExecuteDate}, &found))
	if len(ids) > 0 {
		t.c.later(step{sql: stayAlive, args: []any{run.ID}})
	}
	var touched []int64
	for part := range slices.Chunk(ids, chunk) {
		l, err := t.lock(run, part)
		if err != nil {
			return b, nil, nil, err
		}
		for i := range l.ids {
			e, err := l.entry(t.c, i)
			if err != nil {
				return b, nil, nil, t.fail(err)
			}
			if e.Fence > 0 {
				touched = append(touched, e.ID)
			}
			free = append(free, e)
		}
	}
	if err := t.do(); err != nil { // where there are no ids
		return b, nil, nil, err
	}
	if b, err = only(found, run.TaskName, run.ExecuteDate); err != nil {
		return b, nil, nil, err
	}
	if err := t.readTouched(free, touched); err != nil {
		return b, nil, nil, err
	}
	inOrderOf(ids, free)
	busy, err = t.busy(ids, free)
	return b, free, busy, err
}

func (t *tx) lock(run ledger.Run, ids []int64) (l locked, err error) {
	var dead bool
	err = t.do(step{sql: lockSQL, args: []any{ids, run.ID}, rows: into(&l.ids, &l.batches, &l.fences, &l.keys, &l.payloads, &dead)})
	if err == nil && dead {
		err = t.fail(&ledger.UnusableError{Path: "lease of run " + run.ID, Why: "it was lost, and others have taken over", Hint: "run again: what is done stays done"})
	}
	if err == nil {
		err = t.fail(t.c.know(t.ctx, l.batches, nil))
	}
	return l, err
}

// locked is an answer to lockSQL, a list for each column.
type locked struct {
	ids, batches, fences []int64
	keys                 []string
	payloads             []*string
}

// entry makes what is known of the i-th record: all, if nobody has touched it.
func (l *locked) entry(c *conn, i int) (e ledger.Entry, err error) {
	b, err := c.batchName(l.batches[i])
	e = ledger.Entry{
		ID: l.ids[i], BatchID: l.batches[i], Fence: l.fences[i], Generation: 1,
		Key: ledger.Key{TaskName: b.Task, ExecuteDate: b.Date, BizID: decode(l.keys[i])},
	}
	if p := l.payloads[i]; p != nil {
		e.Payload = []byte(decode(*p))
	}
	return e, err
}

// readTouched reads the rest of records that are locked.
func (t *tx) readTouched(list []ledger.Entry, touched []int64) error {
	if len(touched) == 0 {
		return nil
	}
	whole, err := t.Get(touched)
	if err != nil {
		return err
	}
	for i := range list {
		if len(whole) > 0 && list[i].ID == whole[0].ID {
			list[i], whole = whole[0], whole[1:]
		}
	}
	return nil
}

// inOrderOf puts entries into the order of their numbers in ids. They are in
// it, unless the server has read them in another one.
func inOrderOf(ids []int64, list []ledger.Entry) {
	i := 0
	for _, e := range list {
		for i < len(ids) && ids[i] != e.ID {
			i++
		}
	}
	if i < len(ids) {
		return
	}
	place := make(map[int64]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortFunc(list, func(a, b ledger.Entry) int { return cmp.Compare(place[a.ID], place[b.ID]) })
}

// busy gives those that exist and aren't free.
func (t *tx) busy(ids []int64, free []ledger.Entry) (busy []int64, err error) {
	if len(free) == len(ids) {
		return nil, nil
	}
	got := make(map[int64]bool, len(free))
	for _, e := range free {
		got[e.ID] = true
	}
	missing := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return got[id] })
	err = t.do(step{sql: "SELECT id FROM record WHERE id = ANY($1)", args: []any{missing}, rows: func(row pgx.Rows) error {
		var id int64
		err := row.Scan(&id)
		busy = append(busy, id)
		return err
	}})
	return busy, err
}
