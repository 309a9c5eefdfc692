package postgres

import (
	"context"
	"fmt"

	"runner/ledger"
	"runner/ledger/internal/table"
)

// know reads the names that are not known yet of batches and runs.
func (c *conn) know(ctx context.Context, batches, runs []int64) error {
	batches, runs = unknown(batches, c.names.Batches), unknown(runs, c.names.Runs)
	var steps []step
	if len(batches) > 0 {
		steps = append(steps, step{sql: "SELECT id, task_name, execute_date FROM batch WHERE id = ANY($1)", args: []any{batches},
			rows: values(func(row []any) error {
				table.Remember(&c.names.Batches, table.Integer(row[0]), table.BatchName{Task: table.Str(row[1]), Date: table.Str(row[2])})
				return nil
			})})
	}
	if len(runs) > 0 {
		steps = append(steps, step{sql: "SELECT no, id FROM run WHERE no = ANY($1)", args: []any{runs},
			rows: values(func(row []any) error {
				table.Remember(&c.names.Runs, table.Integer(row[0]), table.Str(row[1]))
				return nil
			})})
	}
	if len(steps) == 0 {
		return nil
	}
	return c.do(ctx, steps...)
}

func unknown[V any](ids []int64, known map[int64]V) (list []int64) {
	seen := map[int64]bool{}
	for _, id := range ids {
		if _, ok := known[id]; !ok && !seen[id] && id != 0 {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}

func (c *conn) batchName(id int64) (table.BatchName, error) {
	n, ok := c.names.Batches[id]
	if !ok {
		return n, fmt.Errorf("batch %d: %w", id, ledger.ErrNotFound)
	}
	return n, nil
}

// runID is the name of a run; empty for none.
func (c *conn) runID(no int64) (string, error) {
	if no == 0 {
		return "", nil
	}
	id, ok := c.names.Runs[no]
	if !ok {
		return "", fmt.Errorf("ledger %s: there is no run %d", c.at.shown, no)
	}
	return id, nil
}

// knownRunNo is the number of a run; 0 if nothing names it.
func (c *conn) knownRunNo(ctx context.Context, id string) (no int64, err error) {
	if no, ok := c.names.Numbers[id]; ok {
		return no, nil
	}
	err = c.do(ctx, step{sql: "SELECT no FROM run WHERE id = $1", args: []any{id}, rows: into(&no)})
	if err == nil && no != 0 {
		table.Remember(&c.names.Numbers, id, no)
	}
	return no, err
}

// runNo is the number of a run, nil for none. One that the ledger doesn't know
// yet gets a row that only names it.
func (c *conn) runNo(ctx context.Context, id string) (any, error) {
	if id == "" {
		return nil, nil
	}
	if no, ok := c.names.Numbers[id]; ok {
		return no, nil
	}
	c.later(step{sql: "INSERT INTO run(id) VALUES ($1) ON CONFLICT DO NOTHING", args: []any{id}})
	no, err := c.knownRunNo(ctx, id)
	return no, err
}
