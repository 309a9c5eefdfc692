package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"runner/ledger/internal/table"

	sqlite3 "modernc.org/sqlite"
)

// conn is one connection to the file. It speaks to the driver without
// database/sql between: a claim and its outcome are a few hundred bound
// values, and the pool, the locks and the conversions of database/sql cost
// as much as SQLite does. Only one goroutine uses a conn at a time.
type conn struct {
	path  string
	c     driver.Conn
	stmts map[string]driver.Stmt // prepared once; their texts are constants
	swaps map[shape]driver.Stmt
	args  []driver.NamedValue
	names table.Names
}

// busyTimeout is how long SQLite itself waits for another writer.
const busyTimeout = "10000"

// cacheWriter and cacheReader are page caches in KiB: planning a million
// records walks one index at random, reading mostly doesn't.
const (
	cacheWriter = "16384"
	cacheReader = "1024"
)

// dsn names a file for the driver. The driver ignores keys that it doesn't
// know, so a test asks the pragmas back.
func dsn(path, mode, cache string, immutable bool) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") { // C:/ledger.db
		p = "/" + p
	}
	q := url.Values{
		"mode":          {mode},
		"_busy_timeout": {busyTimeout},
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"on"},
		"_dqs":          {"0"},
		"_error_rc":     {"1"},
		"_pragma": {
			"cache_size(-" + cache + ")", "temp_store(2)", "wal_autocheckpoint(4000)",
			"fullfsync(1)", "checkpoint_fullfsync(1)",
		},
	}
	if immutable {
		q.Set("immutable", "1")
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: q.Encode()}
	return u.String()
}

func dial(path, dsn string) (*conn, error) {
	c, err := (&sqlite3.Driver{}).Open(dsn)
	if err != nil {
		return nil, explain(path, err)
	}
	return &conn{path: path, c: c, stmts: map[string]driver.Stmt{}}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	for _, s := range c.swaps {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

func (c *conn) prepare(query string) (driver.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.c.Prepare(query)
	if err != nil {
		return nil, explain(c.path, err)
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) bind(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a statement whose text is a constant.
func (c *conn) exec(query string, args ...driver.Value) (driver.Result, error) {
	return c.execContext(context.Background(), query, args...)
}

// execContext is exec that ctx may interrupt: a cancellable context costs
// 3 µs, so only a wait gets one.
func (c *conn) execContext(ctx context.Context, query string, args ...driver.Value) (driver.Result, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	r, err := s.(driver.StmtExecContext).ExecContext(ctx, c.bind(args))
	return r, explain(c.path, err)
}

// script runs statements that aren't worth keeping, or several at once.
func (c *conn) script(text string) error {
	_, err := c.c.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	return explain(c.path, err)
}

// query runs a statement whose text is a constant, row by row. The values of
// a row are int64, string or nil, and valid until fn returns.
func (c *conn) query(query string, fn func(row []driver.Value) error, args ...driver.Value) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return explain(c.path, err)
	}
	return c.drain(rows, fn)
}

// queryOnce is query for a text that is put together, and may take long.
func (c *conn) queryOnce(ctx context.Context, query string, fn func(row []driver.Value) error, args ...driver.Value) error {
	rows, err := c.c.(driver.QueryerContext).QueryContext(ctx, query, c.bind(args))
	if err != nil {
		return explain(c.path, err)
	}
	return c.drain(rows, fn)
}

func (c *conn) drain(rows driver.Rows, fn func(row []driver.Value) error) error {
	row := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(row)
		if err == nil {
			err = fn(row)
		} else if err != io.EOF {
			err = explain(c.path, err)
		}
		if err == nil {
			continue
		}
		closed := explain(c.path, rows.Close())
		if err == io.EOF {
			return closed
		}
		return err
	}
}

// number gives the single integer that a query yields; 0 for NULL or nothing.
func (c *conn) number(query string, args ...driver.Value) (n int64, err error) {
	err = c.query(query, func(row []driver.Value) error {
		n = integer(row[0])
		return nil
	}, args...)
	return n, err
}

// text gives the single string that a query yields.
func (c *conn) text(query string, args ...driver.Value) (s string, err error) {
	err = c.query(query, func(row []driver.Value) error {
		s = str(row[0])
		return nil
	}, args...)
	return s, err
}
