package sqlite

import (
	"database/sql/driver"

	"runner/ledger"
	"runner/ledger/internal/table"
)

var lister = table.Lister{
	In:      func(column string) string { return column + " IN (SELECT value FROM json_each(?))" },
	Numbers: func(ids []int64) any { return numbers(ids) },
	Strings: func(s []string) any { return stringsJSON(s) },
}

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

// listSQL gives the numbers of the records that q selects. ok is false if
// nothing can match.
func (r *reader) listSQL(q ledger.Query) (query string, args []driver.Value, ok bool, err error) {
	scope, err := table.ScopeOf(q, r.Batches)
	if err != nil || scope.None {
		return "", nil, false, err
	}
	var run int64
	if q.RunID != "" {
		if run, err = r.c.knownRunNo(q.RunID); err != nil || run == 0 {
			return "", nil, false, err
		}
	}
	query, all := lister.Select(q, scope, run)
	return query, driverValues(all), true, nil
}
