package sqlite

import (
	"database/sql/driver"
	"fmt"

	"runner/ledger"
	"runner/ledger/internal/table"
)

func (c *conn) batchName(id int64) (table.BatchName, error) {
	if n, ok := c.names.Batches[id]; ok {
		return n, nil
	}
	var n table.BatchName
	err := c.query("SELECT task_name, execute_date FROM batch WHERE id = $1", func(row []driver.Value) error {
		n = table.BatchName{Task: str(row[0]), Date: str(row[1])}
		return nil
	}, id)
	if err == nil && n.Task == "" {
		err = fmt.Errorf("batch %d: %w", id, ledger.ErrNotFound)
	}
	if err == nil {
		table.Remember(&c.names.Batches, id, n)
	}
	return n, err
}

// runID is the name of a run; empty for none.
func (c *conn) runID(v driver.Value) (string, error) {
	no, ok := v.(int64)
	if !ok {
		return "", nil
	}
	if id, ok := c.names.Runs[no]; ok {
		return id, nil
	}
	id, err := c.text("SELECT id FROM run WHERE no = $1", no)
	if err == nil && id == "" {
		err = fmt.Errorf("ledger %s: there is no run %d", c.path, no)
	}
	if err == nil {
		table.Remember(&c.names.Runs, no, id)
	}
	return id, err
}

// knownRunNo is the number of a run; 0 if nothing names it.
func (c *conn) knownRunNo(id string) (int64, error) {
	if no, ok := c.names.Numbers[id]; ok {
		return no, nil
	}
	no, err := c.number("SELECT no FROM run WHERE id = $1", id)
	if err == nil && no != 0 {
		table.Remember(&c.names.Numbers, id, no)
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
