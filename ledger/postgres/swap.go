package postgres

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"runner/ledger"
	"runner/ledger/internal/table"

	"github.com/jackc/pgx/v5"
)

// swapColumns are all of a record that can change, in the order of swapValues.
var swapColumns = [...]struct{ name, kind string }{
	{"status", "smallint"}, {"attempts", "int"}, {"fence", "bigint"}, {"generation", "int"}, {"phase", "smallint"},
	{"act_fence", "bigint"}, {"comp_fence", "bigint"}, {"run_no", "int"}, {"started_at", "bigint"}, {"ended_at", "bigint"},
	{"not_before", "bigint"}, {"delay", "bigint"}, {"later_since", "bigint"}, {"ask_first", "smallint"}, {"suspect", "smallint"},
	{"exit_code", "int"}, {"detail", "text"}, {"result", "text"}, {"error", "text"}, {"payload", "text"},
}

// runColumn is the position of run_no, whose value the entry doesn't have.
const runColumn = 7

type swapRow [len(swapColumns)]any

func swapValues(e *ledger.Entry) swapRow {
	return swapRow{
		int64(e.Status), int64(e.Attempts), e.Fence, int64(e.Generation), int64(e.Phase),
		table.NullZero(e.ActFence), table.NullZero(e.CompFence), table.OrNull(e.RunID), table.Micros(e.StartedAt), table.Micros(e.EndedAt),
		table.Micros(e.NotBefore), table.NullZero(int64(e.Delay)), table.Micros(e.LaterSince), table.NullFalse(e.AskFirst), table.NullFalse(e.Suspect),
		table.ExitCode(e.ExitCode), table.OrNull(e.Detail), table.OrNull(e.Result), table.OrNull(e.Error), table.Blob(e.Payload),
	}
}

// shape is which columns a change changes.
type shape uint32

// swapGroup is changes of one batch, from one status, that change the same
// columns: one statement writes them. Most transactions have two, their
// claims and their successes.
type swapGroup struct {
	shape  shape
	batch  int64
	status ledger.Status
	at     []int // positions of the changes
	rows   []swapRow
}

// Swap compares status and fence in the statement that writes. A change writes
// the columns in which old and new differ: whoever has status and fence right
// has read the rest too.
func (t *tx) Swap(changes []ledger.Change) (stale []int, err error) {
	for _, round := range rounds(changes) {
		groups, err := t.group(changes, round)
		if err != nil {
			return nil, t.fail(err)
		}
		missed, err := t.swapGroups(changes, groups)
		if err != nil {
			return nil, err
		}
		stale = append(stale, missed...)
	}
	slices.Sort(stale)
	return stale, nil
}

// rounds gives the positions of the changes by the numbers of their records,
// the order in which all transactions lock them. Two changes of one record
// build on each other, so each round has only one.
func rounds(changes []ledger.Change) (all [][]int) {
	order := make([]int, len(changes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(changes[a].Old.ID, changes[b].Old.ID) })
	for len(order) > 0 {
		var now, later []int
		for i, at := range order {
			if i > 0 && changes[order[i-1]].Old.ID == changes[at].Old.ID {
				later = append(later, at)
			} else {
				now = append(now, at)
			}
		}
		all = append(all, now)
		order = later
	}
	return all
}

func (t *tx) group(changes []ledger.Change, round []int) (groups []*swapGroup, err error) {
	for _, at := range round {
		was, e := &changes[at].Old, &changes[at].New
		if was.BatchID == 0 || int(max(was.Status, e.Status)) >= len(ledger.Counts{}) {
			return nil, fmt.Errorf("record %d: a change without batch or with an unknown status", was.ID)
		}
		before, row := swapValues(was), swapValues(e)
		var sh shape
		for i := range row {
			if row[i] != before[i] {
				sh |= 1 << i
			}
		}
		if sh&(1<<runColumn) != 0 {
			if row[runColumn], err = t.c.runNo(t.ctx, e.RunID); err != nil {
				return nil, err
			}
		}
		g := find(groups, sh, was)
		if g == nil {
			g = &swapGroup{shape: sh, batch: was.BatchID, status: was.Status}
			groups = append(groups, g)
		}
		g.at = append(g.at, at)
		g.rows = append(g.rows, row)
	}
	return groups, nil
}

func find(groups []*swapGroup, sh shape, was *ledger.Entry) *swapGroup {
	for _, g := range groups {
		if g.shape == sh && g.batch == was.BatchID && g.status == was.Status {
			return g
		}
	}
	return nil
}

// swapGroups sends all groups at once, and gives the positions of stale
// changes.
func (t *tx) swapGroups(changes []ledger.Change, groups []*swapGroup) (stale []int, err error) {
	written := make([]map[int64]bool, len(groups))
	var steps []step
	for i, g := range groups {
		written[i] = make(map[int64]bool, len(g.at))
		query, args := g.statement(changes)
		steps = append(steps, step{sql: query, args: args, rows: func(rows pgx.Rows) error {
			var id int64
			err := rows.Scan(&id)
			written[i][id] = true
			return err
		}})
	}
	if err := t.do(steps...); err != nil {
		return nil, err
	}
	for i, g := range groups {
		d := t.delta(g.batch)
		for _, at := range g.at {
			c := &changes[at]
			if !written[i][c.Old.ID] {
				stale = append(stale, at)
				continue
			}
			d.counts[c.Old.Status]--
			d.counts[c.New.Status]++
		}
	}
	return stale, nil
}

// statement makes an UPDATE of a group. A value that all its changes share is
// an argument of its own, others come as arrays. The batch is part of the
// condition, so that a wrong one can't move another batch's counters.
//
// CASE hides the conditions from the planner. Without statistics it thinks
// that they leave one record of the table, and then starts from that.
func (g *swapGroup) statement(changes []ledger.Change) (query string, args []any) {
	ids, fences := make([]int64, len(g.at)), make([]int64, len(g.at))
	for i, at := range g.at {
		ids[i], fences[i] = changes[at].Old.ID, changes[at].Old.Fence
	}
	args = []any{ids, fences, int64(g.status), g.batch}
	arrays, names := "$1::bigint[], $2::bigint[]", "id, f"
	var set strings.Builder
	for i, col := range swapColumns {
		if g.shape&(1<<i) == 0 {
			continue
		}
		if set.Len() > 0 {
			set.WriteString(", ")
		}
		n := len(args) + 1
		if g.uniform(i) {
			args = append(args, g.rows[0][i])
			fmt.Fprintf(&set, "%s = $%d", col.name, n)
			continue
		}
		args = append(args, g.array(i, col.kind))
		arrays += fmt.Sprintf(", $%d::%s[]", n, col.kind)
		names += ", " + "n_" + col.name
		fmt.Fprintf(&set, "%s = j.n_%s", col.name, col.name)
	}
	if set.Len() == 0 { // nothing changes, but it has to be there
		set.WriteString("fence = r.fence")
	}
	return "UPDATE record r SET " + set.String() + " FROM unnest(" + arrays + ") j(" + names + `)
WHERE r.id = j.id AND CASE WHEN r.fence = j.f AND r.status = $3 AND r.batch_id = $4 THEN true END RETURNING r.id`, args
}

func (g *swapGroup) uniform(col int) bool {
	for i := range g.rows {
		if g.rows[i][col] != g.rows[0][col] {
			return false
		}
	}
	return true
}

func (g *swapGroup) array(col int, kind string) any {
	if kind == "text" {
		list := make([]*string, len(g.rows))
		for i := range g.rows {
			if s, ok := g.rows[i][col].(string); ok {
				list[i] = &s
			}
		}
		return list
	}
	list := make([]*int64, len(g.rows))
	for i := range g.rows {
		if n, ok := g.rows[i][col].(int64); ok {
			list[i] = &n
		}
	}
	return list
}
