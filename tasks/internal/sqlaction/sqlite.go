package sqlaction

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite"
)

var sqliteGrammar = grammar{
	syntax: syntax{backtick: true, bracket: true, marks: "?@$"},
	verbs:  []string{"REPLACE", "CREATE", "ALTER", "DROP"},
	never:  [][2]string{{"OR", "ROLLBACK"}, {"CONFLICT", "ROLLBACK"}},
}

type sqlite struct {
	path string
	sqlDB
}

func newSQLite(address, dir string) (database, error) {
	path, err := sqliteFile(address, dir)
	if err != nil {
		return nil, err
	}
	// A wait for a lock in the driver can't be cut short, so it is short.
	u := url.URL{Scheme: "file", Path: path, RawQuery: "mode=rw&_busy_timeout=50&_foreign_keys=on&_error_rc=1"}
	d := &sqlite{path: path}
	d.sqlDB.open = func() *sql.DB {
		db, err := sql.Open("sqlite", u.String())
		if err != nil {
			panic(err) // the driver is there, or this wouldn't be linked
		}
		return db
	}
	return d, nil
}

func (d *sqlite) grammar() *grammar { return &sqliteGrammar }
func (d *sqlite) name() string      { return "sqlite:" + d.path }

// tries is one: a busy SQLite has been waited for already.
func (d *sqlite) tries() int { return 1 }

// executors is one: SQLite has one writer at a time, and those that wait for
// it only poll.
func (d *sqlite) executors(int) int { return 1 }

func (d *sqlite) open(ctx context.Context) (session, error) {
	if st, err := os.Stat(d.path); err != nil || st.IsDir() { // it is never made
		if err == nil {
			err = errors.New("it is a folder")
		}
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, err
	}
	s, err := newSQLSession(ctx, &d.sqlDB)
	if err != nil {
		return nil, err
	}
	return &sqliteSession{sqlSession: s, texts: map[*statement]*statement{}}, nil
}

// The codes of SQLite that matter here.
const (
	sqliteBusy       = 5
	sqliteLocked     = 6
	sqlitePrimaryKey = 1555
	sqliteUnique     = 2067
	sqliteRowID      = 2579
)

func sqliteCode(err error) int {
	var e *sqlite3.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func (d *sqlite) class(err error) errClass {
	switch code := sqliteCode(err); {
	case gone(err):
		return lost
	case code&0xff == sqliteBusy || code&0xff == sqliteLocked:
		return conflict
	case code == sqlitePrimaryKey || code == sqliteUnique || code == sqliteRowID:
		return unique
	}
	return failed
}

type sqliteSession struct {
	sqlSession
	texts map[*statement]*statement // queries whose columns are all text
}

// busyTime is how long a busy SQLite is waited for.
var busyTime = 10 * time.Second

// patiently tries for busyTime what finds the database busy.
func patiently(ctx context.Context, fn func() error) error {
	end := time.Now().Add(busyTime)
	for {
		err := fn()
		if sqliteCode(err)&0xff != sqliteBusy || time.Now().After(end) {
			return err
		}
		if perr := pause(ctx, time.Millisecond+rand.N(20*time.Millisecond)); perr != nil {
			return perr
		}
	}
}

func (s *sqliteSession) begin(ctx context.Context, readOnly bool) error {
	if readOnly {
		if err := s.control(ctx, "PRAGMA query_only = 1"); err != nil {
			return err
		}
		return s.control(ctx, "BEGIN")
	}
	return patiently(ctx, func() error { return s.control(ctx, "BEGIN IMMEDIATE") })
}

// commit may find readers in its way, and can be repeated then. What was
// refused for a constraint is certainly not committed.
func (s *sqliteSession) commit(ctx context.Context) error {
	err := patiently(ctx, func() error { return s.control(ctx, "COMMIT") })
	if err == nil {
		return nil
	}
	const constraint = 19
	code := sqliteCode(err) & 0xff
	certain := code == sqliteBusy || code == constraint
	if s.control(context.WithoutCancel(ctx), "ROLLBACK") != nil {
		certain = false
	}
	return &commitError{err, certain}
}

// insertGuards inserts any number of guards by one statement.
func (s *sqliteSession) insertGuards(ctx context.Context, keys []guardKey) ([]bool, error) {
	rows := make([][3]any, len(keys))
	for i, k := range keys {
		rows[i] = [3]any{k.bizID, k.date, k.generation}
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	p, err := s.stmt(ctx, "INSERT INTO "+GuardTable+" ("+guardColumns+") SELECT ?, ?, value ->> 0, value ->> 1, value ->> 2"+
		" FROM json_each(?) WHERE true ON CONFLICT DO NOTHING RETURNING biz_id, execute_date, generation")
	if err != nil {
		return nil, err
	}
	r, err := p.QueryContext(ctx, keys[0].namespace, keys[0].task, string(list))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	inserted := make(map[guardKey]bool, len(keys))
	k := guardKey{namespace: keys[0].namespace, task: keys[0].task}
	for r.Next() {
		if err := r.Scan(&k.bizID, &k.date, &k.generation); err != nil {
			return nil, err
		}
		inserted[k] = true
	}
	return found(keys, inserted), r.Err()
}

const sqliteMakeGuards = "CREATE TABLE IF NOT EXISTS " + GuardTable + ` (
 namespace TEXT NOT NULL, task_name TEXT NOT NULL, biz_id TEXT NOT NULL, execute_date TEXT NOT NULL, generation INTEGER NOT NULL,
 created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
 PRIMARY KEY (` + guardColumns + ")) WITHOUT ROWID"

// deleteGuards takes any number of ids as one value.
func (s *sqliteSession) deleteGuards(ctx context.Context, namespace, task, date string, generation int, ids []string) (int64, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return 0, err
	}
	return s.change(ctx, "DELETE FROM "+GuardTable+" WHERE namespace = ? AND task_name = ? AND execute_date = ?"+
		" AND generation = ? AND biz_id IN (SELECT value FROM json_each(?))", []any{namespace, task, date, generation, string(list)})
}

func (s *sqliteSession) hasGuards(ctx context.Context) (bool, error) {
	var n int
	err := patiently(ctx, func() error {
		err := s.c.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '"+GuardTable+"'").Scan(&n)
		if err == nil && n > 0 {
			err = s.control(ctx, lookAtGuards)
		}
		return err
	})
	return n > 0, err
}

func (s *sqliteSession) makeGuards(ctx context.Context, trial bool) error {
	if there, err := s.hasGuards(ctx); err != nil || there {
		return err
	}
	if err := s.begin(ctx, false); err != nil {
		return err
	}
	err := s.control(ctx, sqliteMakeGuards)
	if err == nil && !trial {
		return s.commit(ctx)
	}
	return errors.Join(err, s.control(ctx, "ROLLBACK"))
}

func (s *sqliteSession) untransactional(context.Context, []string) ([]string, error) { return nil, nil }

// query has SQLite write each value as text: the driver would make times of
// dates, and numbers of numbers.
func (s *sqliteSession) query(ctx context.Context, st *statement, args []any, each rowFunc) (err error) {
	begun := false
	busy := patiently(ctx, func() error { // a writer may hold readers off, until there is a row
		err = s.queryOnce(ctx, st, args, func(columns []string, row []*string) error {
			begun = true
			return each(columns, row)
		})
		if begun {
			return nil
		}
		return err
	})
	if busy != nil {
		return busy
	}
	return err
}

func (s *sqliteSession) prepare(ctx context.Context, st *statement) error {
	return patiently(ctx, func() error { return s.sqlSession.prepare(ctx, st) })
}

func (s *sqliteSession) queryOnce(ctx context.Context, st *statement, args []any, each rowFunc) error {
	text, ok := s.texts[st]
	if !ok {
		var err error
		if text, err = s.asText(ctx, st, args); err != nil {
			return err
		}
		s.texts[st] = text
	}
	return s.sqlSession.query(ctx, text, args, func(_ []string, row []*string) error { return each(text.names, row) })
}

// asText wraps a query so that all of its columns are text. The names are
// those of the columns.
func (s *sqliteSession) asText(ctx context.Context, st *statement, args []any) (*statement, error) {
	rows, err := s.c.QueryContext(ctx, st.sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var names, casts []string
	for i := range columns {
		names = append(names, fmt.Sprintf("c%d", i))
		casts = append(casts, fmt.Sprintf("CAST(c%d AS TEXT)", i))
	}
	text := *st
	text.names = columns
	text.sql = "WITH q(" + strings.Join(names, ", ") + ") AS (" + st.sql + "\n) SELECT " + strings.Join(casts, ", ") + " FROM q"
	return &text, nil
}
