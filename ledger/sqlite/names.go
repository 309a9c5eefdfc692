package sqlite

import (
	"database/sql/driver"
	"fmt"

	"runner/ledger"
)

// names remembers which batch and which run a number stands for. Numbers are
// never given twice, so what was read once stays true; a rollback is the
// exception (see rollback).
type names struct {
	batches map[int64]batchName
	runs    map[int64]string
	numbers map[string]int64 // of runs
}

type batchName struct{ task, date string }

// maxNames bounds the memory of a process that lives long.
const maxNames = 10_000

func remember[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil || len(*m) >= maxNames {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

func (c *conn) batchName(id int64) (batchName, error) {
	if n, ok := c.names.batches[id]; ok {
		return n, nil
	}
	var n batchName
	err := c.query("SELECT task_name, execute_date FROM batch WHERE id = $1", func(row []driver.Value) error {
		n = batchName{str(row[0]), str(row[1])}
		return nil
	}, id)
	if err == nil && n.task == "" {
		err = fmt.Errorf("batch %d: %w", id, ledger.ErrNotFound)
	}
	if err == nil {
		remember(&c.names.batches, id, n)
	}
	return n, err
}

// runID is the name of a run; empty for none.
func (c *conn) runID(v driver.Value) (string, error) {
	no, ok := v.(int64)
	if !ok {
		return "", nil
	}
	if id, ok := c.names.runs[no]; ok {
		return id, nil
	}
	id, err := c.text("SELECT id FROM run WHERE no = $1", no)
	if err == nil && id == "" {
		err = fmt.Errorf("ledger %s: there is no run %d", c.path, no)
	}
	if err == nil {
		remember(&c.names.runs, no, id)
	}
	return id, err
}

// knownRunNo is the number of a run; 0 if nothing names it.
func (c *conn) knownRunNo(id string) (int64, error) {
	if no, ok := c.names.numbers[id]; ok {
		return no, nil
	}
	no, err := c.number("SELECT no FROM run WHERE id = $1", id)
	if err == nil && no != 0 {
		remember(&c.names.numbers, id, no)
	}
	return no, err
}

// runNo is the number of a run, NULL for none. One that the ledger doesn't
// know yet gets a row that only names it.
func (c *conn) runNo(id string) (driver.Value, error) {
	if id == "" {
		return nil, nil
	}
	no, err := c.knownRunNo(id)
	if err == nil && no == 0 {
		if _, err = c.exec("INSERT INTO run(id) VALUES ($1)", id); err == nil {
			no, err = c.knownRunNo(id)
		}
	}
	return no, err
}
