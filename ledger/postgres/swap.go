package postgres

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"runner/ledger"
)

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
}

// Swap compares status and fence in the statement that writes. A change writes
// the columns in which old and new differ: whoever has status and fence right
// has read the rest too. It all goes with the next statement that is waited for,
// which may be the commit.
func (t *tx) Swap(changes []ledger.Change) error {
	for _, round := range rounds(changes) {
		groups, err := t.group(changes, round)
		if err != nil {
			return t.fail(err)
		}
		for _, g := range groups {
			query, args := g.statement(t.runs, changes)
			t.c.later(step{sql: query, args: args})
			t.count(g, changes)
		}
	}
	return t.err
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
		var sh shape
		for i := range swapColumns {
			if !swapColumns[i].same(was, e) {
				sh |= 1 << i
			}
		}
		if sh&(1<<runColumn) != 0 {
			if err := t.knowRun(e.RunID); err != nil {
				return nil, err
			}
		}
		g := find(groups, sh, was)
		if g == nil {
			g = &swapGroup{shape: sh, batch: was.BatchID, status: was.Status}
			groups = append(groups, g)
		}
		g.at = append(g.at, at)
	}
	return groups, nil
}

// knowRun finds out the number of a run that records name.
func (t *tx) knowRun(id string) error {
	no, err := t.c.runNo(t.ctx, id)
	if n, ok := no.(int64); ok {
		t.runs[id] = n
	}
	return err
}

func find(groups []*swapGroup, sh shape, was *ledger.Entry) *swapGroup {
	for _, g := range groups {
		if g.shape == sh && g.batch == was.BatchID && g.status == was.Status {
			return g
		}
	}
	return nil
}

// count adds what a group changes to the counters of its batch.
func (t *tx) count(g *swapGroup, changes []ledger.Change) {
	d := t.delta(g.batch)
	for _, at := range g.at {
		c := &changes[at]
		d.counts[c.Old.Status]--
		d.counts[c.New.Status]++
		t.leaves(c)
	}
}

const changedSQL = "SELECT count(*) > 0 FROM record WHERE id = $1 AND status = $2 AND fence = $3 AND run_no IS NOT DISTINCT FROM (SELECT no FROM run WHERE id = $4)"

// leaves makes a change the trace of this transaction, if it is a better one
// than what it has: nobody else can have made the same claim.
func (t *tx) leaves(c *ledger.Change) {
	e := &c.New
	claim := e.Status == ledger.Running
	if e.Status == c.Old.Status && e.Fence == c.Old.Fence || t.trace.sql != "" && (!claim || t.claims) {
		return
	}
	t.claims = claim
	t.trace = step{sql: changedSQL, args: []any{e.ID, int64(e.Status), e.Fence, e.RunID}}
}

// statement makes an UPDATE of a group. A value that all its changes share is
// an argument of its own, others come as arrays. It fails unless it writes all,
// so that a commit which was sent along with it doesn't happen. The batch is part
// of the condition, so that a wrong one can't move another batch's counters.
//
// CASE hides the conditions from the planner. Without statistics it thinks
// that they leave one record of the table, and then starts from that.
func (g *swapGroup) statement(runs map[string]int64, changes []ledger.Change) (query string, args []any) {
	ids, fences := make([]int64, len(g.at)), make([]int64, len(g.at))
	for i, at := range g.at {
		ids[i], fences[i] = changes[at].Old.ID, changes[at].Old.Fence
	}
	args = []any{ids, fences, int64(g.status), g.batch}
	arrays, names := "$1::bigint[], $2::bigint[]", "id, f"
	var set strings.Builder
	list := make([]*ledger.Entry, len(g.at))
	for i, at := range g.at {
		list[i] = &changes[at].New
	}
	for i := range swapColumns {
		col := &swapColumns[i]
		if g.shape&(1<<i) == 0 {
			continue
		}
		if set.Len() > 0 {
			set.WriteString(", ")
		}
		n := len(args) + 1
		if col.uniform(list) {
			args = append(args, col.value(runs, list[0]))
			fmt.Fprintf(&set, "%s = $%d", col.name, n)
			continue
		}
		args = append(args, col.array(runs, list))
		arrays += fmt.Sprintf(", $%d::%s[]", n, col.kind)
		names += ", " + "n_" + col.name
		fmt.Fprintf(&set, "%s = j.n_%s", col.name, col.name)
	}
	if set.Len() == 0 { // nothing changes, but it has to be there
		set.WriteString("fence = r.fence")
	}
	return "WITH u AS (UPDATE record r SET " + set.String() + " FROM unnest(" + arrays + ") j(" + names + `)
WHERE r.id = j.id AND CASE WHEN r.fence = j.f AND r.status = $3 AND r.batch_id = $4 THEN true END RETURNING r.id)
SELECT ` + failIf("count(*) < cardinality($1::bigint[])", staleText) + " FROM u", args
}
