package postgres

import (
	"time"

	"runner/ledger"
)

// column is one of a record that can change, and how to read it from an entry:
// as a number or as a text, and whether it has a value at all.
type column struct {
	name, kind string
	number     func(*ledger.Entry) (int64, bool)
	text       func(*ledger.Entry) (string, bool)
}

// runColumn is the position of run_no, of which an entry has the name.
const runColumn = 7

var swapColumns = [...]column{
	{name: "status", kind: "smallint", number: func(e *ledger.Entry) (int64, bool) { return int64(e.Status), true }},
	{name: "attempts", kind: "int", number: func(e *ledger.Entry) (int64, bool) { return int64(e.Attempts), true }},
	{name: "fence", kind: "bigint", number: func(e *ledger.Entry) (int64, bool) { return e.Fence, true }},
	{name: "generation", kind: "int", number: func(e *ledger.Entry) (int64, bool) { return int64(e.Generation), true }},
	{name: "phase", kind: "smallint", number: func(e *ledger.Entry) (int64, bool) { return int64(e.Phase), true }},
	{name: "act_fence", kind: "bigint", number: func(e *ledger.Entry) (int64, bool) { return e.ActFence, e.ActFence != 0 }},
	{name: "comp_fence", kind: "bigint", number: func(e *ledger.Entry) (int64, bool) { return e.CompFence, e.CompFence != 0 }},
	{name: "run_no", kind: "int", text: func(e *ledger.Entry) (string, bool) { return e.RunID, e.RunID != "" }},
	{name: "started_at", kind: "bigint", number: func(e *ledger.Entry) (int64, bool) { return micros(e.StartedAt) }},
	{name: "ended_at", kind: "bigint", number: func(e *ledger.Entry) (int64, bool) { return micros(e.EndedAt) }},
	{name: "not_before", kind: "bigint", number: func(e *ledger.Entry) (int64, bool) { return micros(e.NotBefore) }},
	{name: "delay", kind: "bigint", number: func(e *ledger.Entry) (int64, bool) { return int64(e.Delay), e.Delay != 0 }},
	{name: "later_since", kind: "bigint", number: func(e *ledger.Entry) (int64, bool) { return micros(e.LaterSince) }},
	{name: "ask_first", kind: "smallint", number: func(e *ledger.Entry) (int64, bool) { return 1, e.AskFirst }},
	{name: "suspect", kind: "smallint", number: func(e *ledger.Entry) (int64, bool) { return 1, e.Suspect }},
	{name: "exit_code", kind: "int", number: func(e *ledger.Entry) (int64, bool) {
		if e.ExitCode == nil {
			return 0, false
		}
		return int64(*e.ExitCode), true
	}},
	{name: "detail", kind: "text", text: func(e *ledger.Entry) (string, bool) { return e.Detail, e.Detail != "" }},
	{name: "result", kind: "text", text: func(e *ledger.Entry) (string, bool) { return e.Result, e.Result != "" }},
	{name: "error", kind: "text", text: func(e *ledger.Entry) (string, bool) { return e.Error, e.Error != "" }},
	{name: "payload", kind: "text", text: func(e *ledger.Entry) (string, bool) { return string(e.Payload), e.Payload != nil }},
}

func micros(t time.Time) (int64, bool) {
	if t.IsZero() {
		return 0, false
	}
	return t.UnixMicro(), true
}

// same tells whether two entries have the same value.
func (c *column) same(a, b *ledger.Entry) bool {
	if c.number != nil {
		m, ok := c.number(a)
		n, there := c.number(b)
		return ok == there && (m == n || !ok)
	}
	m, ok := c.text(a)
	n, there := c.text(b)
	return ok == there && m == n
}

func (c *column) uniform(list []*ledger.Entry) bool {
	for _, e := range list[1:] {
		if !c.same(list[0], e) {
			return false
		}
	}
	return true
}

// value is the argument for one entry; runs has the numbers of runs by name.
func (c *column) value(runs map[string]int64, e *ledger.Entry) any {
	if n, ok := c.numberOf(runs, e); ok {
		return n
	}
	if s, ok := c.textOf(e); ok {
		return s
	}
	return nil
}

func (c *column) numberOf(runs map[string]int64, e *ledger.Entry) (n int64, ok bool) {
	switch {
	case c.number != nil:
		return c.number(e)
	case c.kind == "text":
		return 0, false
	}
	n, ok = runs[e.RunID]
	return n, ok
}

func (c *column) textOf(e *ledger.Entry) (string, bool) {
	if c.kind != "text" {
		return "", false
	}
	return c.text(e)
}

// array is the argument for many entries.
func (c *column) array(runs map[string]int64, list []*ledger.Entry) any {
	if c.kind == "text" {
		return pointers(list, c.textOf)
	}
	return pointers(list, func(e *ledger.Entry) (int64, bool) { return c.numberOf(runs, e) })
}

// pointers gives the values of entries, nil for none.
func pointers[T any](list []*ledger.Entry, value func(*ledger.Entry) (T, bool)) []*T {
	values, out := make([]T, len(list)), make([]*T, len(list))
	for i, e := range list {
		if v, ok := value(e); ok {
			values[i], out[i] = v, &values[i]
		}
	}
	return out
}
