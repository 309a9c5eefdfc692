package postgres

import (
	"context"
	"fmt"
	"slices"

	"runner/ledger"
	"runner/ledger/internal/table"

	"github.com/jackc/pgx/v5"
)

// reader reads within the transaction that its connection is in.
type reader struct {
	c   *conn
	ctx context.Context
	err error                            // the first failed statement: the transaction is lost with it
	see func(row []any, b *ledger.Batch) // makes of a batch what a Tx has made of it; may be nil
}

// chunk is how many keys or numbers go into one statement.
const chunk = 10_000

// do keeps an error, so that a caller who overlooks it commits nothing.
func (r *reader) do(steps ...step) error {
	err := r.err
	if err == nil {
		err = r.c.do(r.ctx, steps...)
	}
	return r.fail(err)
}

func (r *reader) fail(err error) error {
	if r.err == nil {
		r.err = err
	}
	return err
}

const selectBatch = "SELECT " + table.BatchColumns + ", revision FROM batch"

const selectBatchOf = selectBatch + " WHERE task_name = $1 AND execute_date = $2"

func (r *reader) Batch(task, date string) (ledger.Batch, error) {
	list, err := r.batches(selectBatchOf, []any{task, date})
	if err != nil {
		return ledger.Batch{}, err
	}
	return only(list, task, date)
}

func only(list []ledger.Batch, task, date string) (ledger.Batch, error) {
	if len(list) == 0 {
		return ledger.Batch{}, fmt.Errorf("batch %s %s: %w", task, date, ledger.ErrNotFound)
	}
	return list[0], nil
}

func (r *reader) Batches(task, date string) ([]ledger.Batch, error) {
	w := table.BatchesWhere(task, date)
	return r.batches(selectBatch+""+w.Text()+" ORDER BY execute_date, task_name", w.Args)
}

func (r *reader) batches(query string, args []any) (list []ledger.Batch, err error) {
	err = r.do(r.readBatches(query, args, &list))
	return list, err
}

func (r *reader) readBatches(query string, args []any, list *[]ledger.Batch) step {
	return step{sql: query, args: args, rows: values(func(row []any) error {
		b := table.Batch(row)
		if r.see != nil {
			r.see(row, &b)
		}
		*list = append(*list, b)
		return nil
	})}
}

const getSQL = "SELECT " + table.RecordColumns + " FROM unnest($1::bigint[]) WITH ORDINALITY j(id, n) JOIN record r ON r.id = j.id ORDER BY j.n"

// Get gives the records that exist, in the order of ids.
func (r *reader) Get(ids []int64) ([]ledger.Entry, error) { return r.entries(getSQL, ids) }

func (r *reader) entries(query string, ids []int64) ([]ledger.Entry, error) {
	list := make([]ledger.Entry, 0, len(ids))
	var batches, runs []int64
	for part := range slices.Chunk(ids, chunk) {
		err := r.do(step{sql: query, args: []any{part}, rows: values(func(row []any) error {
			e := table.Entry(row)
			list = append(list, e)
			runs = append(runs, table.Integer(row[table.RunNoOf]))
			if len(batches) == 0 || batches[len(batches)-1] != e.BatchID {
				batches = append(batches, e.BatchID)
			}
			return nil
		})})
		if err != nil {
			return nil, err
		}
	}
	if err := r.fail(r.c.know(r.ctx, batches, runs)); err != nil {
		return nil, err
	}
	for i := range list {
		e := &list[i]
		b, err := r.c.batchName(e.BatchID)
		if err != nil {
			return nil, r.fail(err)
		}
		e.TaskName, e.ExecuteDate = b.Task, b.Date
		if e.RunID, err = r.c.runID(runs[i]); err != nil {
			return nil, r.fail(err)
		}
	}
	return list, nil
}

func (r *reader) Count(ids []int64) (ledger.Counts, error) {
	var n ledger.Counts
	for part := range slices.Chunk(ids, chunk) {
		err := r.do(step{
			sql:  "SELECT r.status, count(*) FROM unnest($1::bigint[]) j(id) JOIN record r ON r.id = j.id GROUP BY 1",
			args: []any{part}, rows: values(func(row []any) error {
				n[table.Integer(row[0])] += table.Integer(row[1])
				return nil
			})})
		if err != nil {
			return ledger.Counts{}, err
		}
	}
	return n, nil
}

// findSQL answers with one array: a row for each key costs more than to look
// the key up. A number packs the record's id (0: none), its status, and two
// bits.
const findSQL = `SELECT array_agg(coalesce(r.id*32 + r.status*4 + (r.attempts > 0)::int*2 + (r.payload IS NOT DISTINCT FROM j.p)::int, 0) ORDER BY j.n)
FROM unnest($2::text[], $3::text[]) WITH ORDINALITY j(k, p, n) LEFT JOIN record r ON r.batch_id = $1 AND r.biz_id = j.k`

func (r *reader) Find(batch int64, in []ledger.Input) ([]ledger.Known, error) {
	known := make([]ledger.Known, 0, len(in))
	for part := range slices.Chunk(in, chunk) {
		keys, payloads := columns(part)
		var packed []int64
		if err := r.do(step{sql: findSQL, args: []any{batch, keys, payloads}, rows: into(&packed)}); err != nil {
			return nil, err
		}
		for _, n := range packed {
			known = append(known, unpack(n))
		}
	}
	if len(known) != len(in) {
		return nil, fmt.Errorf("ledger %s: asked for %d records, got %d answers", r.c.at.shown, len(in), len(known))
	}
	return known, nil
}

func unpack(n int64) ledger.Known {
	k := ledger.Known{ID: n >> 5}
	if k.ID != 0 {
		k.Status = ledger.Status(n >> 2 & 7)
		k.Started = n&2 != 0 || k.Status == ledger.Running
		k.SamePayload = n&1 != 0
	}
	return k
}

// columns gives the inputs as two arrays, NULL where there is no payload. If
// there is none at all, one NULL stands for all.
func columns(in []ledger.Input) (keys []string, payloads []*string) {
	keys = make([]string, len(in))
	for i := range in {
		keys[i] = in[i].BizID
		if in[i].Payload != nil {
			if payloads == nil {
				payloads = make([]*string, len(in))
			}
			p := string(in[i].Payload)
			payloads[i] = &p
		}
	}
	if payloads == nil {
		payloads = []*string{nil} // unnest pads it
	}
	return keys, payloads
}

func (r *reader) Attempts(record int64) (list []ledger.Attempt, err error) {
	return r.stories(table.SelectAttempts, record)
}

func (r *reader) Stories(records []int64) (list []ledger.Attempt, err error) {
	for part := range slices.Chunk(records, chunk) {
		more, err := r.stories(table.SelectStories, part)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

func (r *reader) stories(query string, of any) (list []ledger.Attempt, err error) {
	var runs []int64
	err = r.do(step{sql: query, args: []any{of}, rows: values(func(row []any) error {
		list = append(list, table.Attempt(row))
		runs = append(runs, table.Integer(row[table.AttemptRunNo]))
		return nil
	})})
	if err == nil {
		err = r.fail(r.c.know(r.ctx, nil, runs))
	}
	for i := range list {
		if err == nil {
			list[i].RunID, err = r.c.runID(runs[i])
		}
	}
	return list, err
}

func (r *reader) Runs(q ledger.RunQuery) (list []ledger.Run, err error) {
	query, args := table.SelectRuns(q, "lease_until")
	err = r.do(step{sql: query, args: args, rows: values(func(row []any) error {
		run := table.Run(row)
		run.LeaseUntil = table.Instant(row[len(row)-1])
		list = append(list, run)
		return nil
	})})
	return list, err
}

var lister = table.Lister{
	In:      func(column string) string { return column + " = ANY(?)" },
	Numbers: func(ids []int64) any { return ids },
	Strings: func(s []string) any { return s },
}

func (r *reader) List(q ledger.Query) ([]ledger.Entry, error) {
	scope, err := table.ScopeOf(q, r.Batches)
	if err != nil || scope.None {
		return nil, err
	}
	var run int64
	if q.RunID != "" {
		if run, err = r.c.knownRunNo(r.ctx, q.RunID); err != nil || run == 0 {
			return nil, r.fail(err)
		}
	}
	query, args := lister.Select(q, scope, run)
	var ids []int64
	err = r.do(step{sql: query, args: args, rows: func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.Get(ids)
}
