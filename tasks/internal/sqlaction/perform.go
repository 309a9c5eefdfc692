package sqlaction

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"runner/ledger"
	"runner/runner"
)

// perform does what is to be done for a record within the transaction.
func (x *executor) perform(ctx context.Context, j *job) (runner.Result, error) {
	none, err := x.readFor(ctx, j)
	if err != nil {
		return runner.Result{}, err
	}
	if !none {
		if none, err = x.execute(ctx, j, x.first, 0); err != nil {
			return runner.Result{}, err
		}
	}
	if none {
		return x.noRows(ctx, j)
	}
	for i, st := range x.more {
		if _, err := x.execute(ctx, j, st, i+1); err != nil {
			return runner.Result{}, err
		}
	}
	return succeeded(ledger.DetailApplied), nil
}

func (x *executor) execute(ctx context.Context, j *job, st *statement, i int) (none bool, err error) {
	args, err := j.bind(st)
	if err != nil {
		return false, &recordError{ledger.FailedForGood, fmt.Errorf("%s: %w", x.called(i), err)}
	}
	n, err := x.s.exec(ctx, st, args)
	if err != nil {
		return false, fmt.Errorf("%s: %w", x.called(i), err)
	}
	return n == 0 && st.counts(), nil
}

// readFor reads what later statements take as parameters. It tells whether
// there was no row.
func (x *executor) readFor(ctx context.Context, j *job) (none bool, err error) {
	if x.read == nil {
		return false, nil
	}
	j.read = nil
	row, rows, err := x.look(ctx, j, x.read)
	switch {
	case err != nil:
		return false, fmt.Errorf("read: %w", err)
	case rows > 1:
		return false, &recordError{ledger.FailedForGood, fmt.Errorf("read: it gives %d rows, and should give one", rows)}
	}
	j.read = row
	return rows == 0, nil
}

// look executes a query and gives its first row, by column, and how many
// there are.
func (x *executor) look(ctx context.Context, j *job, q *statement) (first map[string]any, rows int, err error) {
	args, err := j.bind(q)
	if err != nil {
		return nil, 0, &recordError{ledger.FailedForGood, err}
	}
	err = x.s.query(ctx, q, args, func(columns []string, row []*string) error {
		if rows++; rows > 1 {
			return nil
		}
		first = map[string]any{}
		for i, c := range columns {
			first[c] = nil
			if row[i] != nil {
				first[c] = *row[i]
			}
		}
		return nil
	})
	return first, rows, err
}

// noRows is the result where the first statement found nothing.
func (x *executor) noRows(ctx context.Context, j *job) (runner.Result, error) {
	const nothing = "no row was found"
	switch x.OnNoRows {
	case Retry:
		return runner.Result{}, &recordError{ledger.FailedAttempt, errors.New(nothing)}
	case Fail:
		return runner.Result{}, &recordError{ledger.FailedForGood, errors.New(nothing)}
	}
	r := succeeded(ledger.DetailNoop)
	if x.state == nil {
		return r, nil
	}
	args, err := j.bind(x.state)
	if err != nil {
		return r, &recordError{ledger.FailedForGood, fmt.Errorf("state: %w", err)}
	}
	seen := false
	err = x.s.query(ctx, x.state, args, func(_ []string, row []*string) error {
		if !seen {
			r.Result = joined(row)
		}
		seen = true
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("state: %w", err)
	}
	return r, nil
}

// joined gives the values of a row in one line.
func joined(row []*string) string {
	var texts []string
	for _, v := range row {
		if v == nil {
			texts = append(texts, "NULL")
		} else {
			texts = append(texts, *v)
		}
	}
	return strings.Join(texts, ", ")
}
