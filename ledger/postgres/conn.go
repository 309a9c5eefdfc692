package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"runner/ledger/internal/table"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// conn is one connection. Only one goroutine uses it at a time.
type conn struct {
	c        *pgx.Conn
	at       *address
	opening  []step         // of a transaction that nothing was sent of
	queue    []step         // goes with the next statement that somebody waits for
	uses     map[string]int // of statements; pgx knows the types of these
	prepares bool           // the session is ours alone
	prepared map[string]bool
	names    table.Names
}

// maxTexts is how many statements pgx remembers the types of.
const maxTexts = 2000

// step is a statement, and what to do with its answer.
type step struct {
	sql  string
	args []any
	rows func(row pgx.Rows) error      // for each row; nil: there is none of interest
	done func(pgconn.CommandTag) error // nil: nothing to check
}

// answerTimeout is how long a statement may take, or a server be silent. It is
// above lock_timeout, so that the server gets to say what it waits for.
const answerTimeout = 30 * time.Second

func (s *slot) dial(ctx context.Context) (*conn, error) {
	c, err := pgx.ConnectConfig(ctx, s.at.config)
	if err != nil {
		return nil, s.at.explain(err)
	}
	return &conn{c: c, at: s.at, uses: map[string]int{}, prepared: map[string]bool{}}, nil
}

// slot is a place for a connection in a pool.
type slot struct {
	at *address
	c  *conn
}

// ready gives a connection that was alive when it was last used.
func (s *slot) ready(ctx context.Context) (*conn, error) {
	if s.c != nil && !s.c.c.IsClosed() {
		return s.c, nil
	}
	c, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	s.c = c
	return c, nil
}

func (s *slot) close() error {
	if s.c == nil || s.c.c.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return s.c.c.Close(ctx)
}

// later sends a statement along with the next one that is waited for.
func (c *conn) later(steps ...step) { c.queue = append(c.queue, steps...) }

// do sends what is queued and then steps, in one round trip. After the first
// error, the rest hasn't happened.
//
// A statement that is new to pgx costs one more, to ask for its types. That
// must not happen before BEGIN: the tables may lie where only the settings of
// the transaction lead.
func (c *conn) do(ctx context.Context, steps ...step) error {
	opening, steps := c.opening, append(c.queue, steps...)
	c.opening, c.queue = nil, nil
	_, prepare := c.count(opening)
	isNew, more := c.count(steps)
	prepare = append(prepare, more...)
	if len(opening) > 0 && (isNew || len(prepare) > 0) {
		if err := c.send(ctx, opening); err != nil {
			c.forget(steps)
			return err
		}
		opening = nil
	}
	if err := c.prepare(ctx, prepare); err != nil {
		c.forget(steps)
		return err
	}
	if steps = append(opening, steps...); len(steps) == 0 {
		return nil
	}
	return c.send(ctx, steps)
}

func (c *conn) send(ctx context.Context, steps []step) error {
	limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, errSilent)
	defer cancel()
	batch := &pgx.Batch{}
	for _, s := range steps {
		batch.Queue(s.sql, encodeArgs(s.args)...)
	}
	answers := c.c.SendBatch(limited, batch)
	var err error
	for i := 0; i < len(steps) && err == nil; i++ {
		err = steps[i].take(answers)
	}
	if cerr := answers.Close(); err == nil {
		err = cerr
	}
	if err != nil { // as pgx may
		c.forget(steps)
	}
	return c.judge(ctx, limited, err)
}

// judge explains an error of a statement that was to end with limited.
func (c *conn) judge(ctx, limited context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(limited), errSilent):
		err = &lostError{errSilent}
	case hasClass(err, codeNoStatement, codeIsStatement): // the session is not the one that it was
		c.at.shared.Store(true)
		_ = c.c.Close(ctx) // it is of no use any more
		err = &lostError{err}
	case c.c.IsClosed():
		err = &lostError{err}
	}
	return c.at.explain(err)
}

// lostError says that the connection broke.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }

func (e *lostError) Unwrap() error { return e.err }

// errSilent says that a server didn't answer in time. The connection is closed.
var errSilent = fmt.Errorf("it hasn't answered for %s", answerTimeout)

func (s *step) take(answers pgx.BatchResults) error {
	rows, err := answers.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if s.rows == nil {
			continue
		}
		if err := s.rows(rows); err != nil {
			return err
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return err
	}
	if s.done == nil {
		return nil
	}
	return s.done(rows.CommandTag())
}

// values makes a function of whole rows one of pgx's.
func values(fn func(row []any) error) func(pgx.Rows) error {
	return func(r pgx.Rows) error {
		row, err := r.Values()
		if err != nil {
			return err
		}
		for i, v := range row {
			if s, ok := v.(string); ok {
				row[i] = decode(s)
			}
		}
		return fn(row)
	}
}

// into scans the single row of an answer.
func into(dest ...any) func(pgx.Rows) error {
	return func(r pgx.Rows) error { return r.Scan(dest...) }
}

func encodeArgs(args []any) []any {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = encode(v)
		case []string:
			args[i] = encodeAll(v)
		case []*string:
			for j, p := range v {
				if p != nil {
					if e := encode(*p); e != *p {
						v[j] = &e
					}
				}
			}
		}
	}
	return args
}
