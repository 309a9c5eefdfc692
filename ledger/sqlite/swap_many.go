package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"runner/ledger"
)

// minMany is from how many equal steps on one statement pays.
const minMany = 8

// state is all of a record that can change, but for what is each record's
// own: its payload, and when its newest attempt started and ended.
type state struct {
	batch                     int64
	status                    ledger.Status
	phase                     ledger.Phase
	detail, result, err, run  string
	attempts, generation      int
	fence, actFence, comp     int64
	notBefore, later          time.Time
	delay                     time.Duration
	askFirst, suspect, exited bool
	exit                      int
}

func stateOf(e *ledger.Entry) state {
	s := state{
		e.BatchID, e.Status, e.Phase, e.Detail, e.Result, e.Error, e.RunID, e.Attempts, e.Generation,
		e.Fence, e.ActFence, e.CompFence, e.NotBefore, e.LaterSince, e.Delay, e.AskFirst, e.Suspect, e.ExitCode != nil, 0,
	}
	if s.exited {
		s.exit = *e.ExitCode
	}
	return s
}

// steps are changes that write the same, but for the times of an attempt,
// into records in the same state. Nearly all changes of a transaction are
// such: claims of records that nobody has touched yet, and first attempts
// that succeeded.
type steps struct {
	changes []*ledger.Change // by rising numbers
	times   bool             // they set StartedAt and EndedAt
}

// equalSteps finds the steps that are equal to one of a few changes.
func equalSteps(changes []ledger.Change) (s steps) {
	for _, like := range []int{0, len(changes) / 2} {
		if len(changes) < minMany || len(s.changes) >= minMany {
			break
		}
		s = stepsLike(changes, &changes[like])
	}
	return s
}

func stepsLike(changes []ledger.Change, like *ledger.Change) steps {
	was, is := stateOf(&like.Old), stateOf(&like.New)
	if was == is || was.batch == 0 || max(was.status, is.status) >= ledger.Status(len(ledger.Counts{})) {
		return steps{}
	}
	s := steps{times: !sameTimes(like)}
	for i := range changes {
		c := &changes[i]
		if sameTimes(c) == !s.times && stateOf(&c.Old) == was && stateOf(&c.New) == is && bytes.Equal(c.Old.Payload, c.New.Payload) &&
			(c.Old.Payload == nil) == (c.New.Payload == nil) && (!s.times || fits(c.New.StartedAt) && fits(c.New.EndedAt)) {
			s.changes = append(s.changes, c)
		}
	}
	slices.SortFunc(s.changes, func(a, b *ledger.Change) int { return cmp.Compare(a.Old.ID, b.Old.ID) })
	return s
}

func sameTimes(c *ledger.Change) bool {
	return c.Old.StartedAt.Equal(c.New.StartedAt) && c.Old.EndedAt.Equal(c.New.EndedAt)
}

// fits tells whether a time takes 16 digits, as all do from 2001 to 2286.
func fits(t time.Time) bool {
	us := t.UnixMicro()
	return us >= 1e15 && us < 1e16
}

// swapMany writes equal steps, with one statement for each row of numbers
// without a gap, and tells which it has written: not those in short rows.
func (t *tx) swapMany(s steps) (done map[int64]bool, err error) {
	like := s.changes[0]
	done = make(map[int64]bool, len(s.changes))
	for rest := s.changes; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Old.ID == rest[n-1].Old.ID+1 {
			n++
		}
		row := rest[:n]
		rest = rest[n:]
		if n < minMany {
			continue
		}
		touched, err := t.swapRow(row, s.times)
		if err != nil {
			return nil, err
		}
		if touched != int64(n) {
			return nil, ledger.ErrRaced
		}
		for _, c := range row {
			done[c.Old.ID] = true
		}
	}
	d, n := t.delta(like.Old.BatchID), int64(len(done))
	d.counts[like.Old.Status] -= n
	d.counts[like.New.Status] += n
	return done, nil
}

// swapRow writes equal steps of numbers without a gap.
func (t *tx) swapRow(row []*ledger.Change, times bool) (touched int64, err error) {
	was, is := &row[0].Old, &row[0].New
	run, err := t.c.runNo(is.RunID)
	if err != nil {
		return 0, err
	}
	wasRun, err := t.c.runNo(was.RunID)
	if err != nil {
		return 0, err
	}
	old, values := swapValues(was, wasRun), swapValues(is, run)
	sh := manyRow
	t.c.args = t.c.args[:0]
	for i, v := range values {
		if v == old[i] || i == startedColumn || i == endedColumn {
			continue
		}
		sh |= 1 << (i + setColumns)
		if v != nil {
			sh |= 1 << i
			t.c.arg(v)
		}
	}
	first := was.ID
	if times {
		sh |= manyTimes
		text := appendTimes(make([]byte, 0, 32*len(row)), row)
		for range 2 {
			t.c.arg(text)
			t.c.arg(first)
		}
	}
	t.c.arg(first)
	t.c.arg(row[len(row)-1].Old.ID)
	t.c.arg(was.Fence)
	t.c.arg(int64(was.Status))
	t.c.arg(was.BatchID)
	st, err := t.c.swapStmt(sh)
	if err != nil {
		return 0, err
	}
	r, err := st.ExecContext(context.Background(), t.c.args)
	if err != nil {
		return 0, explain(t.c.path, err)
	}
	return r.RowsAffected()
}

// appendTimes puts the times of a row into a text from which the statement
// cuts those of each record: 16 digits and 16 digits.
func appendTimes(b []byte, row []*ledger.Change) []byte {
	for _, c := range row {
		b = strconv.AppendInt(b, c.New.StartedAt.UnixMicro(), 10)
		b = strconv.AppendInt(b, c.New.EndedAt.UnixMicro(), 10)
	}
	return b
}

const setTimes = `started_at = CAST(substr(?, 1 + 32 * (id - ?), 16) AS INTEGER), ` +
	`ended_at = CAST(substr(?, 17 + 32 * (id - ?), 16) AS INTEGER)`

// manyText is the statement of a row.
func (sh shape) manyText() string {
	var set []string
	for i, col := range swapColumns {
		if sh&(1<<(i+setColumns)) == 0 {
			continue
		}
		v := col.zero
		if sh&(1<<i) != 0 {
			v = "?"
		}
		set = append(set, col.name+" = "+v)
	}
	if sh&manyTimes != 0 {
		set = append(set, setTimes)
	}
	return "UPDATE record SET " + strings.Join(set, ", ") +
		" WHERE id BETWEEN ? AND ? AND +fence = ? AND +status = ? AND +batch_id = ?"
}
