package sqlaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// database is where an action works: one address of one kind of database.
//
// To add a kind: a file with its grammar, its database and its sessions, and
// lines in grammarOf and newDatabase.
type database interface {
	grammar() *grammar
	// name is what people know it by; it holds no password.
	name() string
	// open connects. Its error is one of connecting.
	open(ctx context.Context) (session, error)
	// executors is how many sessions of so many can work at once.
	executors(jobs int) int
	// class says what an error of a session means.
	class(err error) errClass
	// tries is how often a transaction is tried that others are in the way of.
	tries() int
	close() error
}

// session is a connection, used by one goroutine at a time. After an error of
// class lost, or one of a context that has ended, it is of no use any more.
type session interface {
	begin(ctx context.Context, readOnly bool) error
	// exec gives the number of rows that a statement changed, or gave.
	exec(ctx context.Context, s *statement, args []any) (int64, error)
	// execAll is exec for many records. After an error the transaction is of
	// no use any more.
	execAll(ctx context.Context, s *statement, args [][]any) ([]int64, error)
	// query gives the rows of a statement as text, nil for NULL, to each,
	// which must not keep what it gets.
	query(ctx context.Context, s *statement, args []any, each rowFunc) error
	// insertGuards inserts guard rows, in their order, and tells which of them
	// were not there. It waits for other transactions that have inserted them.
	insertGuards(ctx context.Context, keys []guardKey) (fresh []bool, err error)
	deleteGuard(ctx context.Context, key guardKey) error
	// deleteGuards deletes those of records of a task on a date, of a generation,
	// and gives how many that were. It looks at no others.
	deleteGuards(ctx context.Context, namespace, task, date string, generation int, ids []string) (int64, error)
	// marked gives the highest generation of which guards of a date were removed;
	// 0: of none.
	marked(ctx context.Context, namespace, task, date string) (upTo int, err error)
	// hasGuards tells whether there is a table of guards.
	hasGuards(ctx context.Context) (bool, error)
	// control executes a statement that has no values, such as SAVEPOINT.
	control(ctx context.Context, text string) error
	commit(ctx context.Context) error
	// prepare tells whether the database takes a statement at all.
	prepare(ctx context.Context, s *statement) error
	// makeGuards makes the table of guards where there is none. A trial is
	// taken back, or made not at all where that can't be.
	makeGuards(ctx context.Context, trial bool) error
	// untransactional names those of the tables that take part in no
	// transaction.
	untransactional(ctx context.Context, names []string) ([]string, error)
	close() error
}

// rowFunc gets a row of a query. Its error ends the query.
type rowFunc func(columns []string, row []*string) error

// errClass is what an error means for the transaction in which it happened.
type errClass uint8

const (
	failed   errClass = iota // the statement failed
	conflict                 // others were in the way; again may go well
	unique                   // there is such a row already
	lost                     // the connection is gone
)

// commitError is an error of COMMIT.
type commitError struct {
	err     error
	certain bool // nothing was committed
}

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// uncertain tells whether err leaves open what was committed.
func uncertain(err error) bool {
	var c *commitError
	return errors.As(err, &c) && !c.certain
}

// ConnectError says that a database can't be reached.
type ConnectError struct {
	Database string
	Err      error
}

func (e *ConnectError) Error() string {
	var causes []string // pgx lists one for each address that it tried
	for line := range strings.Lines(e.Err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(causes, line) {
			causes = append(causes, line)
		}
	}
	return fmt.Sprintf("database %s can't be reached: %s", e.Database, strings.Join(causes, " "))
}
func (e *ConnectError) Unwrap() error { return e.Err }

// inTransaction does fn in a transaction that is always taken back, on a new
// session.
func inTransaction(ctx context.Context, db database, readOnly bool, fn func(session) error) error {
	s, err := connect(ctx, db)
	if err != nil {
		return err
	}
	defer s.close() // a session that is closed takes its transaction back
	if err := s.begin(ctx, readOnly); err != nil {
		return err
	}
	return fn(s)
}

// connect opens a session in at most connectTime.
func connect(ctx context.Context, db database) (session, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	s, err := db.open(ctx)
	if err != nil {
		return nil, &ConnectError{db.name(), err}
	}
	return s, nil
}
