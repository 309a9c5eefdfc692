package sqlaction

import (
	"context"
	"fmt"
)

// Rows says where records are read from a database.
type Rows struct {
	Address func() (string, error)
	Dir     string
	Query   string
	Date    string // :execute_date, the only parameter
}

// rowDate is the only parameter of a query for records.
const rowDate = "execute_date"

// Each gives each row as it comes, in a transaction that only reads. The error
// of row ends it.
func (r Rows) Each(ctx context.Context, row func(columns []string, values []*string) error) error {
	db, err := open(r.Address, r.Dir)
	if err != nil {
		return err
	}
	defer db.close() // it was only read
	st, err := rowsQuery(db.grammar(), r.Query)
	if err != nil {
		return err
	}
	args := make([]any, len(st.params))
	for i := range args {
		args[i] = r.Date
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return inTransaction(ctx, db, true, func(s session) error {
		return s.query(ctx, st, args, func(columns []string, values []*string) error {
			err := row(columns, values)
			if err != nil {
				cancel() // or all the other rows would be fetched
			}
			return err
		})
	})
}

func rowsQuery(g *grammar, text string) (*statement, error) {
	st, err := g.query(text)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	for _, p := range st.params {
		if p != rowDate {
			return nil, fmt.Errorf("query: it has :%s, and only :%s is known before there are records", p, rowDate)
		}
	}
	return st, nil
}

// CheckAction says what is wrong with statements of an action, as far as that
// can be seen without its database. Nothing can if the address doesn't tell
// the kind of database.
func CheckAction(address, text string) error {
	return check(address, func(g *grammar) error { _, err := g.action(text); return err })
}

// CheckQuery is CheckAction for what only looks.
func CheckQuery(address, text string) error {
	return check(address, func(g *grammar) error { _, err := g.query(text); return err })
}

// CheckRows is CheckAction for the query of records.
func CheckRows(address, text string) error {
	return check(address, func(g *grammar) error { _, err := rowsQuery(g, text); return err })
}

func check(address string, fn func(g *grammar) error) error {
	if g := grammarOf(address); g != nil {
		return fn(g)
	}
	return nil
}
