package sqlaction

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
)

// sqlDB is a database of package database/sql that is opened when it is first
// needed: it has goroutines from then on.
type sqlDB struct {
	open func() *sql.DB
	once sync.Once
	db   *sql.DB
}

func (d *sqlDB) get() *sql.DB {
	d.once.Do(func() { d.db = d.open() })
	return d.db
}

func (d *sqlDB) close() error {
	d.once.Do(func() {})
	if d.db == nil {
		return nil
	}
	return d.db.Close()
}

// sqlSession is what sessions have in common that use package database/sql:
// one connection, and the statements that were prepared on it.
type sqlSession struct {
	c    *sql.Conn
	made map[string]*sql.Stmt
}

func newSQLSession(ctx context.Context, db *sqlDB) (sqlSession, error) {
	c, err := db.get().Conn(ctx)
	return sqlSession{c, map[string]*sql.Stmt{}}, err
}

// close ends the connection too, which takes back what is open on it.
func (s *sqlSession) close() error {
	for _, st := range s.made {
		_ = st.Close() // goes with the connection
	}
	_ = s.c.Raw(func(any) error { return driver.ErrBadConn }) // is what closes it
	return s.c.Close()
}

func (s *sqlSession) control(ctx context.Context, text string) error {
	_, err := s.c.ExecContext(ctx, text)
	return err
}

func (s *sqlSession) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := s.made[text]; ok {
		return st, nil
	}
	st, err := s.c.PrepareContext(ctx, text)
	if err == nil {
		s.made[text] = st
	}
	return st, err
}

func (s *sqlSession) exec(ctx context.Context, st *statement, args []any) (n int64, err error) {
	if st.rows {
		err = s.query(ctx, st, args, func([]string, []*string) error { n++; return nil })
		return n, err
	}
	return s.change(ctx, st.sql, args)
}

func (s *sqlSession) change(ctx context.Context, text string, args []any) (int64, error) {
	var r sql.Result
	p, err := s.stmt(ctx, text)
	if err == nil {
		r, err = p.ExecContext(ctx, args...)
	}
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (s *sqlSession) execAll(ctx context.Context, st *statement, args [][]any) ([]int64, error) {
	counts := make([]int64, len(args))
	for i, a := range args {
		var err error
		if counts[i], err = s.exec(ctx, st, a); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

func (s *sqlSession) query(ctx context.Context, st *statement, args []any, each rowFunc) error {
	p, err := s.stmt(ctx, st.sql)
	if err != nil {
		return err
	}
	rows, err := p.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	return eachRow(rows, columns, each)
}

func eachRow(rows *sql.Rows, columns []string, each rowFunc) error {
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row := make([]*string, len(columns))
		for i, v := range values {
			row[i] = textOf(v)
		}
		if err := each(columns, row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// textOf writes a value as its database does.
func textOf(v any) *string {
	var text string
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		text = string(v)
	case float32:
		text = floatText(float64(v), 32)
	case float64:
		text = floatText(v, 64)
	default:
		text = fmt.Sprint(v)
	}
	return &text
}

// floatText is the shortest text that reads as the same number.
func floatText(v float64, bits int) string {
	if a := math.Abs(v); a == 0 || a >= 1e-5 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, bits)
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

func (s *sqlSession) prepare(ctx context.Context, st *statement) error {
	_, err := s.stmt(ctx, st.sql)
	return err
}

const (
	insertGuard = "INSERT INTO " + GuardTable + " (" + guardColumns + ") VALUES (?, ?, ?, ?, ?)"
	deleteGuard = "DELETE FROM " + GuardTable + " WHERE namespace = ? AND task_name = ? AND biz_id = ? AND execute_date = ? AND generation = ?"
	lookMarked  = "SELECT coalesce(-min(generation), 0) FROM " + GuardTable + " WHERE namespace = ? AND task_name = ?" +
		" AND biz_id >= ? AND biz_id < ? AND execute_date = ? AND generation < 0"
)

func (s *sqlSession) marked(ctx context.Context, namespace, task, date string) (upTo int, err error) {
	p, err := s.stmt(ctx, lookMarked)
	if err == nil {
		err = p.QueryRowContext(ctx, namespace, task, markerID(date, ""), afterMarkers(date), date).Scan(&upTo)
	}
	return upTo, err
}

func (s *sqlSession) deleteGuard(ctx context.Context, key guardKey) error {
	_, err := s.change(ctx, deleteGuard, key.args())
	return err
}

// gone tells whether an error of package database/sql says that the
// connection is of no use any more.
func gone(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}
