package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"runner/ledger"
)

// swapColumns are all of a record that can change, with what zero is in the
// file, in the order of swapValues.
var swapColumns = [...]struct{ name, zero string }{
	{"status", "0"}, {"attempts", "0"}, {"fence", "0"}, {"generation", "0"}, {"phase", "0"},
	{"act_fence", "0"}, {"comp_fence", "0"}, {"run_no", "NULL"}, {"started_at", "NULL"}, {"ended_at", "NULL"},
	{"not_before", "NULL"}, {"delay", "0"}, {"later_since", "NULL"}, {"ask_first", "0"}, {"suspect", "0"},
	{"exit_code", "NULL"}, {"detail", "NULL"}, {"result", "NULL"}, {"error", "NULL"}, {"payload", "NULL"},
}

// swapValues gives nil for what is zero.
func swapValues(e *ledger.Entry, run driver.Value) [len(swapColumns)]driver.Value {
	return [...]driver.Value{
		nullZero(int64(e.Status)), nullZero(int64(e.Attempts)), nullZero(e.Fence), nullZero(int64(e.Generation)), nullZero(int64(e.Phase)),
		nullZero(e.ActFence), nullZero(e.CompFence), run, micros(e.StartedAt), micros(e.EndedAt),
		micros(e.NotBefore), nullZero(int64(e.Delay)), micros(e.LaterSince), nullFalse(e.AskFirst), nullFalse(e.Suspect),
		exitCode(e.ExitCode), orNull(e.Detail), orNull(e.Result), orNull(e.Error), blob(e.Payload),
	}
}

// shape tells which columns of a change are not zero. Zeros are written into
// the text of the statement: to bind a value costs more than to store it, and
// most fields of most records are zero. A ledger sees a few dozen shapes.
//
// The shape of a row of equal steps tells besides, from bit setColumns on,
// which columns change, and whether the times do.
type shape uint64

const (
	setColumns       = 32
	manyTimes  shape = 1 << 62
	manyRow    shape = 1 << 63
	maxShapes        = 200
)

// startedColumn and endedColumn are places in swapColumns.
const (
	startedColumn = 8
	endedColumn   = 9
)

// swapStmt prepares the write of a shape. Its placeholders have no numbers,
// because the driver looks numbered ones up by name. The batch is part of the
// condition, so that a wrong one can't move another batch's counters.
func (c *conn) swapStmt(sh shape) (driver.StmtExecContext, error) {
	if s := c.swaps[sh]; s != nil {
		return s.(driver.StmtExecContext), nil
	}
	text := sh.oneText
	if sh&manyRow != 0 {
		text = sh.manyText
	}
	s, err := c.c.Prepare(text())
	if err != nil {
		return nil, explain(c.path, err)
	}
	if len(c.swaps) >= maxShapes {
		for _, old := range c.swaps {
			_ = old.Close()
		}
		c.swaps = nil
	}
	if c.swaps == nil {
		c.swaps = map[shape]driver.Stmt{}
	}
	c.swaps[sh] = s
	return s.(driver.StmtExecContext), nil
}

// oneText is the statement of one change.
func (sh shape) oneText() string {
	var b strings.Builder
	b.WriteString("UPDATE record SET ")
	for i, col := range swapColumns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(col.name + " = ")
		if sh&(1<<i) != 0 {
			b.WriteByte('?')
		} else {
			b.WriteString(col.zero)
		}
	}
	b.WriteString(" WHERE id = ? AND fence = ? AND +status = ? AND +batch_id = ?")
	return b.String()
}

// Swap compares status and fence in the statement that writes: a change that
// touches no row is stale. Claims mostly come last, and are equal to each
// other but not to the rest.
func (t *tx) Swap(changes []ledger.Change) error {
	claims := slices.IndexFunc(changes, func(c ledger.Change) bool { return c.New.Status == ledger.Running })
	if claims < 0 {
		claims = len(changes)
	}
	for _, part := range [][]ledger.Change{changes[:claims], changes[claims:]} {
		if err := t.swapPart(part); err != nil {
			return t.fail(err)
		}
	}
	return nil
}

func (t *tx) swapPart(changes []ledger.Change) (err error) {
	var done map[int64]bool
	if s := equalSteps(changes); len(s.changes) >= minMany && !repeats(changes) {
		if done, err = t.swapMany(s); err != nil {
			return err
		}
	}
	for i := range changes {
		was := &changes[i].Old
		if done[was.ID] {
			continue
		}
		if err := t.swap(was, &changes[i].New); err != nil {
			return err
		}
	}
	return nil
}

// repeats tells whether some changes are of one record: these build on each other.
func repeats(changes []ledger.Change) bool {
	seen := make(map[int64]bool, len(changes))
	for i := range changes {
		id := changes[i].Old.ID
		if seen[id] {
			return true
		}
		seen[id] = true
	}
	return false
}

func (t *tx) swap(was, e *ledger.Entry) error {
	if was.BatchID == 0 || int(max(was.Status, e.Status)) >= len(ledger.Counts{}) {
		return fmt.Errorf("record %d: a change without batch or with an unknown status", was.ID)
	}
	run, err := t.c.runNo(e.RunID)
	if err != nil {
		return err
	}
	r, err := t.c.swap(was, swapValues(e, run))
	if err != nil {
		return err
	}
	if n, _ := r.RowsAffected(); n == 0 {
		return ledger.ErrRaced
	}
	d := t.delta(was.BatchID)
	d.counts[was.Status]--
	d.counts[e.Status]++
	return nil
}

func (c *conn) swap(was *ledger.Entry, values [len(swapColumns)]driver.Value) (driver.Result, error) {
	var sh shape
	c.args = c.args[:0]
	for i, v := range values {
		if v != nil {
			sh |= 1 << i
			c.arg(v)
		}
	}
	c.arg(was.ID)
	c.arg(was.Fence)
	c.arg(int64(was.Status))
	c.arg(was.BatchID)
	s, err := c.swapStmt(sh)
	if err != nil {
		return nil, err
	}
	r, err := s.ExecContext(context.Background(), c.args)
	return r, explain(c.path, err)
}

// arg adds a value to those of the next statement.
func (c *conn) arg(v driver.Value) {
	c.args = append(c.args, driver.NamedValue{Ordinal: len(c.args) + 1, Value: v})
}
