package table

import (
	"math"
	"strconv"
	"strings"

	"runner/ledger"
)

// OpenPredicate is that of the index record_open, word for word.
const OpenPredicate = "status <> 0 AND status <> 2"

// Lister makes the text of a list of records.
type Lister struct {
	// In is a condition that column is one of the values of an argument, with
	// ? for that.
	In func(column string) string
	// Numbers and Strings make that argument.
	Numbers func([]int64) any
	Strings func([]string) any
}

// Scope is the batches that a query is about, and the numbers of their
// records that it wants.
type Scope struct {
	None    bool
	all     bool // every batch
	batches []int64
	lo, hi  int64 // inclusive
}

// ScopeOf looks for the batches of q only where q names some.
func ScopeOf(q ledger.Query, batches func(task, date string) ([]ledger.Batch, error)) (Scope, error) {
	s := Scope{all: q.TaskName == "" && q.ExecuteDate == "", lo: 0, hi: math.MaxInt64}
	if !s.all {
		list, err := batches(q.TaskName, q.ExecuteDate)
		if err != nil {
			return s, err
		}
		s.lo, s.hi = math.MaxInt64, 0
		for _, b := range list {
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
	s.None = s.lo > s.hi
	return s, nil
}

// Select gives the numbers of the records that q selects; run is the number
// of q.RunID. It chooses the way to them: by key where keys or a prefix are
// given, by the index of waiting or of open ones where only such are asked
// for, else along the numbers of the batches. A unary plus keeps the planner
// from another way: left alone it takes the unique index, and sorts the whole
// batch.
func (l Lister) Select(q ledger.Query, s Scope, run int64) (query string, args []any) {
	w, open := l.way(s, q)
	if len(q.Statuses) > 0 {
		w.Add(statusCond(open) + statusList(q.Statuses))
	}
	w.AddIf(q.RunID != "", "run_no = ?", run)
	if since := Micros(q.Since); since != nil {
		w.Add("(started_at >= ? OR ended_at >= ?)", since, since)
	}
	return "SELECT id FROM record" + w.Text() + listOrder(q) + Limit(q.Limit), w.Args
}

// way is the conditions that lead to the records. open tells that it goes by
// the index of open ones.
func (l Lister) way(s Scope, q ledger.Query) (w Where, open bool) {
	byKey := len(q.BizIDs) > 0 || q.BizPrefix != ""
	w.AddIf(q.Waiting, "not_before IS NOT NULL") // as the index record_waiting
	w.AddIf(q.Longest, "ended_at >= started_at")
	switch {
	case byKey:
		l.byIndex(s, &w)
		w.AddIf(len(q.BizIDs) > 0, l.In("biz_id"), l.Strings(q.BizIDs))
		if q.BizPrefix != "" {
			w.Add("biz_id >= ?", q.BizPrefix)
			end, bounded := prefixEnd(q.BizPrefix)
			w.AddIf(bounded, "biz_id < ?", end)
		}
		s.window(&w, "+id")
	case q.Waiting:
		l.byIndex(s, &w)
		s.window(&w, "+id")
	case onlyOpen(q.Statuses):
		w.Add(OpenPredicate)
		l.byIndex(s, &w)
		s.window(&w, "id")
		return w, true
	default:
		l.byNumber(s, &w)
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

// byIndex restricts to the batches by the first column of an index.
func (l Lister) byIndex(s Scope, w *Where) {
	switch {
	case s.all:
		w.Add("batch_id IN (SELECT id FROM batch)")
	case len(s.batches) == 1:
		w.Add("batch_id = ?", s.batches[0])
	default:
		w.Add(l.In("batch_id"), l.Numbers(s.batches))
	}
}

// byNumber restricts to the batches while the way goes along the numbers.
func (l Lister) byNumber(s Scope, w *Where) {
	switch {
	case s.all:
	case len(s.batches) == 1:
		w.Add("+batch_id = ?", s.batches[0])
	default:
		w.Add(l.In("+batch_id"), l.Numbers(s.batches))
	}
}

func (s Scope) window(w *Where, id string) {
	w.AddIf(s.lo > 0, id+" >= ?", s.lo)
	w.AddIf(s.hi < math.MaxInt64, id+" <= ?", s.hi)
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
