package table

import (
	"strconv"
	"strings"
)

// Where puts conditions together.
type Where struct {
	conds []string
	Args  []any
}

// Add numbers the question marks of cond.
func (w *Where) Add(cond string, args ...any) {
	for _, a := range args {
		w.Args = append(w.Args, a)
		cond = strings.Replace(cond, "?", "$"+strconv.Itoa(len(w.Args)), 1)
	}
	w.conds = append(w.conds, cond)
}

// AddIf adds cond if ok.
func (w *Where) AddIf(ok bool, cond string, args ...any) {
	if ok {
		w.Add(cond, args...)
	}
}

// Text is the conditions as a clause.
func (w *Where) Text() string {
	if len(w.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conds, " AND ")
}

// Limit is a clause too; 0 is no limit.
func Limit(n int) string {
	if n <= 0 {
		return ""
	}
	return " LIMIT " + strconv.Itoa(n)
}
