package sqlite

import (
	"database/sql/driver"
	"math"
	"strconv"
	"strings"

	"runner/ledger"
)

// openPredicate is that of the index record_open, word for word.
const openPredicate = "status <> 0 AND status <> 2"

// List finds the numbers first, from an index alone where one fits, and then
// gets the records.
func (r *reader) List(q ledger.Query) ([]ledger.Entry, error) {
	query, args, ok, err := r.listSQL(q)
	if err != nil || !ok {
		return nil, err
	}
	var ids []int64
	err = r.c.queryOnce(r.ctx, query, func(row []driver.Value) error {
		ids = append(ids, integer(row[0]))
		return nil
	}, args...)
	if err != nil {
		return nil, err
	}
	return r.Get(ids)
}

// listSQL chooses the way to the records: by key where keys or a prefix are
// given, by the index of waiting or of open ones where only such are asked
// for, else along the numbers of the batches. A unary plus keeps the planner from another
// way: left alone it takes the unique index, and sorts the whole batch.
// ok is false if nothing can match.
func (r *reader) listSQL(q ledger.Query) (query string, args []driver.Value, ok bool, err error) {
	scope, err := r.scope(q)
	if err != nil || scope.none {
		return "", nil, false, err
	}
	w, open := scope.way(q)
	if len(q.Statuses) > 0 {
		w.add(statusCond(open) + statusList(q.Statuses))
	}
	if q.RunID != "" {
		no, err := r.c.knownRunNo(q.RunID)
		if err != nil || no == 0 {
			return "", nil, false, err
		}
		w.add("run_no = ?", no)
	}
	if since := micros(q.Since); since != nil {
		w.add("(started_at >= ? OR ended_at >= ?)", since, since)
	}
	return "SELECT id FROM record" + w.text() + listOrder(q) + limit(q.Limit), w.args, true, nil
}

// way is the conditions that lead to the records. open tells that it goes by
// the index of open ones.
func (s scope) way(q ledger.Query) (w where, open bool) {
	byKey := len(q.BizIDs) > 0 || q.BizPrefix != ""
	w.addIf(q.Waiting, "not_before IS NOT NULL") // as the index record_waiting
	w.addIf(q.Longest, "ended_at >= started_at")
	switch {
	case byKey:
		s.byIndex(&w)
		w.addIf(len(q.BizIDs) > 0, "biz_id IN (SELECT value FROM json_each(?))", stringsJSON(q.BizIDs))
		if q.BizPrefix != "" {
			w.add("biz_id >= ?", q.BizPrefix)
			end, bounded := prefixEnd(q.BizPrefix)
			w.addIf(bounded, "biz_id < ?", end)
		}
		s.window(&w, "+id")
	case q.Waiting:
		s.byIndex(&w)
		s.window(&w, "+id")
	case onlyOpen(q.Statuses):
		w.add(openPredicate)
		s.byIndex(&w)
		s.window(&w, "id")
		return w, true
	default:
		s.byNumber(&w)
		s.window(&w, "id")
	}
	return w, false
}

func listOrder(q ledger.Query) string {
	switch {
	case q.Waiting:
		return " ORDER BY not_before, id"
	case q.Longest:
		return " ORDER BY ended_at - started_at DESC, id DESC"
	case q.Ascending:
		return " ORDER BY id"
	}
	return " ORDER BY id DESC"
}

// onlyOpen tells whether record_open holds all that is asked for.
func onlyOpen(statuses []ledger.Status) bool {
	for _, s := range statuses {
		if s == ledger.Pending || s == ledger.Done {
			return false
		}
	}
	return len(statuses) > 0
}

func statusCond(indexed bool) string {
	if indexed {
		return "status"
	}
	return "+status"
}

// statusList is written into the text, because with one status and one batch
// the index gives the records in order, and nothing is sorted.
func statusList(statuses []ledger.Status) string {
	if len(statuses) == 1 {
		return " = " + strconv.Itoa(int(statuses[0]))
	}
	var b strings.Builder
	b.WriteString(" IN (")
	for i, s := range statuses {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(s)))
	}
	return b.String() + ")"
}

// scope is the batches that a query is about, and the numbers of their
// records that it wants.
type scope struct {
	none    bool
	all     bool // every batch
	batches []int64
	lo, hi  int64 // inclusive
}

func (r *reader) scope(q ledger.Query) (scope, error) {
	s := scope{all: q.TaskName == "" && q.ExecuteDate == "", lo: 0, hi: math.MaxInt64}
	if !s.all {
		batches, err := r.Batches(q.TaskName, q.ExecuteDate)
		if err != nil {
			return s, err
		}
		s.lo, s.hi = math.MaxInt64, 0
		for _, b := range batches {
			if b.FirstID != 0 {
				s.batches = append(s.batches, b.ID)
				s.lo, s.hi = min(s.lo, b.FirstID), max(s.hi, b.LastID)
			}
		}
	}
	s.lo = max(s.lo, q.After+1)
	if q.Before > 0 {
		s.hi = min(s.hi, q.Before-1)
	}
	s.none = s.lo > s.hi
	return s, nil
}

// byIndex restricts to the batches by the first column of an index.
func (s scope) byIndex(w *where) {
	switch {
	case s.all:
		w.add("batch_id IN (SELECT id FROM batch)")
	case len(s.batches) == 1:
		w.add("batch_id = ?", s.batches[0])
	default:
		w.add("batch_id IN (SELECT value FROM json_each(?))", numbers(s.batches))
	}
}

// byNumber restricts to the batches while the way goes along the numbers.
func (s scope) byNumber(w *where) {
	switch {
	case s.all:
	case len(s.batches) == 1:
		w.add("+batch_id = ?", s.batches[0])
	default:
		w.add("+batch_id IN (SELECT value FROM json_each(?))", numbers(s.batches))
	}
}

func (s scope) window(w *where, id string) {
	w.addIf(s.lo > 0, id+" >= ?", s.lo)
	w.addIf(s.hi < math.MaxInt64, id+" <= ?", s.hi)
}

// prefixEnd is the least string above all that start with p: p with its last
// character raised by one. Not bounded if there is none.
func prefixEnd(p string) (end string, bounded bool) {
	runes := []rune(p)
	for i := len(runes) - 1; i >= 0; i-- {
		next := runes[i] + 1
		if next == 0xd800 { // surrogates are no characters
			next = 0xe000
		}
		if next <= 0x10ffff {
			return string(append(runes[:i:i], next)), true
		}
	}
	return "", false
}
