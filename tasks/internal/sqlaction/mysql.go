package sqlaction

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var mysqlGrammar = grammar{
	syntax: syntax{backslash: true, backtick: true, doubleText: true, hash: true, dashBlank: true, marks: "?"},
	verbs:  []string{"REPLACE", "TABLE", "DO"},
	commits: []string{
		"CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "GRANT", "REVOKE", "ANALYZE", "OPTIMIZE", "REPAIR", "CHECK", "CACHE", "FLUSH", "RESET", "LOAD", "INSTALL",
		"UNINSTALL", "CALL",
	},
}

type mysqlDatabase struct {
	shown string
	sqlDB
}

// newMySQL reads an address. An UPDATE that finds a row and changes nothing
// in it counts it, as on the other databases: a state machine asks whether the
// row was found in the state it expects.
func newMySQL(address string) (database, error) {
	u, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr, c.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if u.Port() == "" {
		c.Addr = u.Hostname() + ":3306"
		if strings.Contains(u.Hostname(), ":") {
			c.Addr = "[" + u.Hostname() + "]:3306"
		}
	}
	for key, value := range u.Query() {
		switch key {
		case "socket":
			c.Net, c.Addr = "unix", value[0]
		case "tls":
			c.TLSConfig = value[0]
		default:
			return nil, fmt.Errorf("%q: %q is unknown after the ?; it can be socket or tls", Redact(address), key)
		}
	}
	if c.DBName == "" {
		return nil, fmt.Errorf("%q names no database: want mysql://USER:PASSWORD@HOST/DATABASE", Redact(address))
	}
	c.ClientFoundRows = true
	// The scanner takes a backslash in a string for what it is by default.
	c.Params = map[string]string{"sql_mode": "REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')"}
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", Redact(address), err)
	}
	d := &mysqlDatabase{shown: fmt.Sprintf("mysql://%s@%s/%s", c.User, c.Addr, c.DBName)}
	d.sqlDB.open = func() *sql.DB { return sql.OpenDB(connector) }
	return d, nil
}

func (d *mysqlDatabase) grammar() *grammar      { return &mysqlGrammar }
func (d *mysqlDatabase) name() string           { return d.shown }
func (d *mysqlDatabase) tries() int             { return tries }
func (d *mysqlDatabase) executors(jobs int) int { return jobs }

func (d *mysqlDatabase) open(ctx context.Context) (session, error) {
	s, err := newSQLSession(ctx, &d.sqlDB)
	if err != nil {
		return nil, err
	}
	return &mysqlSession{s}, nil
}

// The errors of the server that matter here.
const (
	mysqlDuplicate   = 1062
	mysqlLockWait    = 1205
	mysqlDeadlock    = 1213
	mysqlShutdown    = 1053
	mysqlKilled      = 1927
	mysqlNormalEnd   = 1077
	mysqlAborted     = 1080
	mysqlNotPrepared = 1295
	mysqlNoSuchTable = 1146
)

func mysqlCode(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

func (d *mysqlDatabase) class(err error) errClass {
	switch mysqlCode(err) {
	case 0:
		return lost
	case mysqlDeadlock, mysqlLockWait:
		return conflict
	case mysqlDuplicate:
		return unique
	case mysqlShutdown, mysqlKilled, mysqlNormalEnd, mysqlAborted:
		return lost
	}
	return failed
}

type mysqlSession struct{ sqlSession }

func (s *mysqlSession) begin(ctx context.Context, readOnly bool) error {
	if readOnly {
		return s.control(ctx, "START TRANSACTION READ ONLY")
	}
	return s.control(ctx, "START TRANSACTION")
}

func (s *mysqlSession) commit(ctx context.Context) error {
	if err := s.control(ctx, "COMMIT"); err != nil {
		return &commitError{err, mysqlCode(err) == mysqlDeadlock}
	}
	return nil
}

// insertGuards inserts all at once, as long as none is there already; the
// server doesn't tell which. A statement that fails leaves nothing behind.
func (s *mysqlSession) insertGuards(ctx context.Context, keys []guardKey) ([]bool, error) {
	fresh := make([]bool, len(keys))
	if len(keys) > 1 {
		var args []any
		for i, k := range keys {
			args, fresh[i] = append(args, k.args()...), true
		}
		_, err := s.c.ExecContext(ctx, insertGuard+strings.Repeat(", (?, ?, ?, ?, ?)", len(keys)-1), args...)
		if mysqlCode(err) != mysqlDuplicate {
			return fresh, err
		}
	}
	for i, k := range keys {
		_, err := s.change(ctx, insertGuard, k.args())
		if err != nil && mysqlCode(err) != mysqlDuplicate {
			return nil, err
		}
		fresh[i] = err == nil
	}
	return fresh, nil
}

// deleteGuards compares bytes, as the columns are. It asks first which are there:
// to delete one that isn't waits for whoever has the one after it.
func (s *mysqlSession) deleteGuards(ctx context.Context, namespace, task, date string, generation int, ids []string) (int64, error) {
	args := []any{namespace, task, date, generation}
	for _, id := range ids {
		args = append(args, id)
	}
	const where = " FROM " + GuardTable + " WHERE namespace = ? AND task_name = ? AND execute_date = ? AND generation = ? AND biz_id IN (?"
	rows, err := s.c.QueryContext(ctx, "SELECT biz_id"+where+strings.Repeat(", ?", len(ids)-1)+")", args...)
	if err != nil {
		return 0, err
	}
	args = args[:4]
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return 0, errors.Join(err, rows.Close())
		}
		args = append(args, id)
	}
	if err := rows.Err(); err != nil || len(args) == 4 {
		return 0, err
	}
	return s.change(ctx, "DELETE"+where+strings.Repeat(", ?", len(args)-5)+")", args)
}

// The key is bytes: collations ignore blanks at the end, at the least.
const mysqlMakeGuards = "CREATE TABLE IF NOT EXISTS " + GuardTable + ` (
 namespace VARBINARY(255) NOT NULL, task_name VARBINARY(128) NOT NULL, biz_id VARBINARY(512) NOT NULL,
 execute_date VARBINARY(10) NOT NULL, generation BIGINT NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
 PRIMARY KEY (` + guardColumns + ")) ENGINE=InnoDB"

func (s *mysqlSession) hasGuards(ctx context.Context) (bool, error) {
	err := s.control(ctx, lookAtGuards)
	if mysqlCode(err) == mysqlNoSuchTable {
		return false, nil
	}
	return err == nil, err
}

// makeGuards can't try: here, making a table commits.
func (s *mysqlSession) makeGuards(ctx context.Context, trial bool) error {
	if there, err := s.hasGuards(ctx); err != nil || there || trial {
		return err
	}
	var got sql.NullInt64
	if err := s.c.QueryRowContext(ctx, "SELECT GET_LOCK('"+GuardTable+"', 10)").Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errors.New("another process has been making it for 10 s")
	}
	err := s.control(ctx, mysqlMakeGuards)
	return errors.Join(err, s.control(ctx, "DO RELEASE_LOCK('"+GuardTable+"')"))
}

// untransactional looks for tables of these names, in the database and in
// those that are named too.
func (s *mysqlSession) untransactional(ctx context.Context, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	in := "(?" + strings.Repeat(", ?", len(names)-1) + ")"
	var args []any
	for range 2 {
		for _, n := range names {
			args = append(args, n)
		}
	}
	rows, err := s.c.QueryContext(ctx, "SELECT t.table_name FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine"+
		" WHERE t.table_name IN "+in+" AND (t.table_schema = DATABASE() OR t.table_schema IN "+in+") AND e.transactions <> 'YES'", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var odd []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		odd = append(odd, name)
	}
	slices.Sort(odd)
	return odd, rows.Err()
}

// prepare: what can't be prepared is executed all the same.
func (s *mysqlSession) prepare(ctx context.Context, st *statement) error {
	if err := s.sqlSession.prepare(ctx, st); mysqlCode(err) != mysqlNotPrepared {
		return err
	}
	return nil
}
