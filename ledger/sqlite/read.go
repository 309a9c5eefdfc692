package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"runner/ledger"
	"runner/ledger/internal/table"
)

// reader reads within the transaction that its connection is in.
type reader struct {
	c      *conn
	ctx    context.Context
	before func() error // makes a Tx write its counters before they are read
}

// chunk is how many keys or numbers go into one statement.
const chunk = 1000

func (r *reader) ready() error {
	if r.before == nil {
		return nil
	}
	return r.before()
}

func (r *reader) Batch(task, date string) (b ledger.Batch, err error) {
	if err := r.ready(); err != nil {
		return b, err
	}
	err = r.c.query("SELECT "+batchColumns+" FROM batch WHERE task_name = $1 AND execute_date = $2",
		func(row []driver.Value) error {
			b = batch(row)
			return nil
		}, task, date)
	if err == nil && b.ID == 0 {
		err = fmt.Errorf("batch %s %s: %w", task, date, ledger.ErrNotFound)
	}
	return b, err
}

func (r *reader) Batches(task, date string) (list []ledger.Batch, err error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	w := table.BatchesWhere(task, date)
	err = r.c.queryOnce(r.ctx, "SELECT "+batchColumns+" FROM batch"+w.Text()+" ORDER BY execute_date, task_name",
		func(row []driver.Value) error {
			list = append(list, batch(row))
			return nil
		}, driverValues(w.Args)...)
	return list, err
}

// Get gives the records that exist, in the order of ids. Those that nobody has
// touched since they were planned, which is what a run claims most, are told
// by a few columns; each of the others takes a second look.
func (r *reader) Get(ids []int64) ([]ledger.Entry, error) {
	list := make([]ledger.Entry, 0, len(ids))
	for part := range slices.Chunk(ids, chunk) {
		var touched []int64
		from := len(list)
		found, args := records(part)
		err := r.c.query(untouchedSQL+found, func(row []driver.Value) error {
			e := ledger.Entry{ID: integer(row[0])}
			if row[1] == nil {
				touched = append(touched, e.ID)
				list = append(list, e)
				return nil
			}
			b, err := r.c.batchName(integer(row[1]))
			e.BatchID, e.Generation, e.Payload = integer(row[1]), 1, bytesOf(row[3])
			e.Key = ledger.Key{TaskName: b.Task, BizID: str(row[2]), ExecuteDate: b.Date}
			list = append(list, e)
			return err
		}, args...)
		if err == nil && len(touched) > 0 {
			err = r.whole(list[from:], touched)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

const untouchedSQL = `SELECT r.id, CASE WHEN r.status = 0 AND r.fence = 0 AND r.attempts = 0 AND r.generation = 1 AND r.phase = 0
AND r.act_fence = 0 AND r.comp_fence = 0 AND r.delay = 0 AND r.ask_first = 0 AND r.suspect = 0
AND coalesce(r.run_no, r.started_at, r.ended_at, r.not_before, r.later_since, r.exit_code, r.detail, r.result, r.error) IS NULL
THEN r.batch_id END, r.biz_id, r.payload FROM `

// whole reads all of those records of a list that were touched, which are in
// the same order.
func (r *reader) whole(list []ledger.Entry, touched []int64) error {
	i := 0
	from, args := records(touched)
	return r.c.query("SELECT "+recordColumns+" FROM "+from,
		func(row []driver.Value) (err error) {
			for list[i].Generation != 0 { // it was read
				i++
			}
			list[i], err = r.c.entry(row)
			i++
			return err
		}, args...)
}

// Count adds up one number for each chunk, ten bits a status: a sum needs no
// sorting, which GROUP BY does.
func (r *reader) Count(ids []int64) (n ledger.Counts, err error) {
	const bits, mask = 10, 1<<10 - 1 // more than chunk
	for part := range slices.Chunk(ids, chunk) {
		from, args := records(part)
		sum, err := r.c.number("SELECT sum(1 << (10 * r.status)) FROM "+from, args...)
		if err != nil {
			return n, err
		}
		for i := range n {
			n[i] += sum >> (bits * i) & mask
		}
	}
	return n, nil
}

// records is what to read of table record r for ids, in their order.
func records(ids []int64) (from string, args []driver.Value) {
	for i := range ids {
		if ids[i] != ids[0]+int64(i) {
			return "json_each($1) j CROSS JOIN record r ON r.id = j.value", []driver.Value{numbers(ids)}
		}
	}
	return "record r WHERE r.id BETWEEN $1 AND $2", []driver.Value{ids[0], ids[len(ids)-1]}
}

func (r *reader) Attempts(record int64) (list []ledger.Attempt, err error) {
	err = r.c.query("SELECT "+attemptColumns+` FROM attempt a
		LEFT JOIN output o ON o.record_id = a.record_id AND o.fence = a.fence
		WHERE a.record_id = $1 ORDER BY a.fence`,
		func(row []driver.Value) error {
			a, err := r.c.attempt(row)
			list = append(list, a)
			return err
		}, record)
	return list, err
}

// Stories looks at the lines between the first and the last record: nearly all
// records have none.
func (r *reader) Stories(records []int64) (list []ledger.Attempt, err error) {
	for part := range slices.Chunk(records, chunk) {
		err = r.c.query("SELECT "+attemptColumns+` FROM attempt a
			LEFT JOIN output o ON o.record_id = a.record_id AND o.fence = a.fence
			WHERE a.record_id BETWEEN $1 AND $2 AND a.record_id IN (SELECT value FROM json_each($3)) ORDER BY a.record_id, a.fence`,
			func(row []driver.Value) error {
				a, err := r.c.attempt(row)
				list = append(list, a)
				return err
			}, part[0], part[len(part)-1], numbers(part))
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (r *reader) Runs(q ledger.RunQuery) (list []ledger.Run, err error) {
	query, args := table.SelectRuns(q)
	err = r.c.queryOnce(r.ctx, query, func(row []driver.Value) error {
		list = append(list, table.Run(anyValues(row)))
		return nil
	}, driverValues(args)...)
	return list, err
}
