package sqlaction

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var postgresGrammar = grammar{
	syntax:   syntax{escapeE: true, dollar: true, nested: true, slices: true},
	numbered: true,
	verbs: []string{
		"MERGE", "TABLE", "CALL", "DO", "TRUNCATE", "CREATE", "ALTER", "DROP", "COMMENT", "GRANT", "REVOKE", "REFRESH", "NOTIFY", "LOCK",
	},
}

type postgres struct {
	config *pgx.ConnConfig
}

func newPostgres(address string) (database, error) {
	if _, err := parseURL(address); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("%q can't be read as an address: %w", Redact(address), pgReason(err))
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "runner"
	}
	return &postgres{config}, nil
}

// pgReason takes the address, of which there is more than enough, out of an
// error of reading it.
func pgReason(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

func (d *postgres) grammar() *grammar      { return &postgresGrammar }
func (d *postgres) executors(jobs int) int { return jobs }
func (d *postgres) tries() int             { return tries }
func (d *postgres) close() error           { return nil }

func (d *postgres) name() string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s", d.config.User, d.config.Host, d.config.Port, d.config.Database)
}

func (d *postgres) open(ctx context.Context) (session, error) {
	c, err := pgx.ConnectConfig(ctx, d.config)
	if err != nil {
		return nil, err
	}
	return &pgSession{c}, nil
}

func (d *postgres) class(err error) errClass {
	var pe *pgconn.PgError
	switch {
	case !errors.As(err, &pe):
		return lost
	case pe.Code == "40001" || pe.Code == "40P01":
		return conflict
	case strings.HasPrefix(pe.Code, "57P") || strings.HasPrefix(pe.Code, "08") || pe.Severity == "FATAL" || pe.Severity == "PANIC":
		return lost
	case pe.Code == "23505":
		return unique
	}
	return failed
}

// pgSession uses pgx itself: many statements go in one message, and values
// come as text.
type pgSession struct{ c *pgx.Conn }

func (s *pgSession) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.c.Close(ctx)
}

func (s *pgSession) control(ctx context.Context, text string) error {
	_, err := s.c.Exec(ctx, text)
	return err
}

func (s *pgSession) begin(ctx context.Context, readOnly bool) error {
	if readOnly {
		return s.control(ctx, "BEGIN READ ONLY")
	}
	return s.control(ctx, "BEGIN")
}

// commit is certain to have failed only where the server says so of the
// transaction: one that is going down may have committed before.
func (s *pgSession) commit(ctx context.Context) error {
	tag, err := s.c.Exec(ctx, "COMMIT")
	var pe *pgconn.PgError
	switch {
	case err == nil && tag.String() == "ROLLBACK":
		return &commitError{errors.New("the transaction had failed before"), true}
	case err != nil:
		certain := errors.As(err, &pe) && pe.Severity == "ERROR" && !strings.HasPrefix(pe.Code, "57P") && !strings.HasPrefix(pe.Code, "08")
		return &commitError{err, certain}
	}
	return nil
}

func (s *pgSession) exec(ctx context.Context, st *statement, args []any) (int64, error) {
	tag, err := s.c.Exec(ctx, st.sql, args...)
	return tag.RowsAffected(), err
}

// execAll sends all before it waits for the first answer.
func (s *pgSession) execAll(ctx context.Context, st *statement, args [][]any) ([]int64, error) {
	var b pgx.Batch
	for _, a := range args {
		b.Queue(st.sql, a...)
	}
	answers := s.c.SendBatch(ctx, &b)
	counts := make([]int64, len(args))
	for i := range args {
		tag, err := answers.Exec()
		if err != nil {
			_ = answers.Close() // says the same again
			return nil, err
		}
		counts[i] = tag.RowsAffected()
	}
	return counts, answers.Close()
}

func (s *pgSession) query(ctx context.Context, st *statement, args []any, each rowFunc) error {
	rows, err := s.c.Query(ctx, st.sql, append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var columns []string
	for rows.Next() {
		if columns == nil {
			for _, f := range rows.FieldDescriptions() {
				columns = append(columns, f.Name)
			}
		}
		row := make([]*string, len(columns))
		for i, raw := range rows.RawValues() {
			if raw != nil {
				text := string(raw)
				row[i] = &text
			}
		}
		if err := each(columns, row); err != nil {
			return err
		}
	}
	return rows.Err()
}

const (
	pgInsertGuards = "INSERT INTO " + GuardTable + " (" + guardColumns + ") SELECT $1, $2, k.biz_id, k.execute_date, k.generation" +
		" FROM unnest($3::text[], $4::text[], $5::bigint[]) AS k(biz_id, execute_date, generation)" +
		" ON CONFLICT DO NOTHING RETURNING biz_id, execute_date, generation"
	pgMarked = "SELECT coalesce(-min(generation), 0) FROM " + GuardTable + " WHERE namespace = $1 AND task_name = $2" +
		" AND biz_id >= $3 AND biz_id < $4 AND execute_date = $5 AND generation < 0"
	pgDeleteGuard = "DELETE FROM " + GuardTable + " WHERE namespace = $1 AND task_name = $2 AND biz_id = $3 AND execute_date = $4 AND generation = $5"
	pgMakeGuards  = "CREATE TABLE IF NOT EXISTS " + GuardTable + ` (
 namespace text COLLATE "C" NOT NULL, task_name text COLLATE "C" NOT NULL, biz_id text COLLATE "C" NOT NULL,
 execute_date text COLLATE "C" NOT NULL, generation bigint NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
 PRIMARY KEY (` + guardColumns + "))"
	// pgGuardLock is that of whoever makes the table: IF NOT EXISTS is not
	// enough where many do at once.
	pgGuardLock = "SELECT pg_advisory_xact_lock(7319842250120871)"
)

func (s *pgSession) insertGuards(ctx context.Context, keys []guardKey) ([]bool, error) {
	var ids, dates []string
	var generations []int64
	for _, k := range keys {
		ids, dates, generations = append(ids, k.bizID), append(dates, k.date), append(generations, int64(k.generation))
	}
	rows, err := s.c.Query(ctx, pgInsertGuards, keys[0].namespace, keys[0].task, ids, dates, generations)
	if err != nil {
		return nil, err
	}
	inserted := make(map[guardKey]bool, len(keys))
	k := guardKey{namespace: keys[0].namespace, task: keys[0].task}
	_, err = pgx.ForEachRow(rows, []any{&k.bizID, &k.date, &k.generation}, func() error {
		inserted[k] = true
		return nil
	})
	return found(keys, inserted), err
}

func (s *pgSession) deleteGuard(ctx context.Context, key guardKey) error {
	_, err := s.c.Exec(ctx, pgDeleteGuard, key.args()...)
	return err
}

// deleteGuards sends a statement for each record, all at once. A single one with
// a list reads all guards of the task where the table was never analyzed.
func (s *pgSession) deleteGuards(ctx context.Context, namespace, task, date string, generation int, ids []string) (n int64, err error) {
	var b pgx.Batch
	for _, id := range ids {
		b.Queue(pgDeleteGuard, namespace, task, id, date, generation)
	}
	answers := s.c.SendBatch(ctx, &b)
	for range ids {
		tag, err := answers.Exec()
		if err != nil {
			_ = answers.Close() // says the same again
			return 0, err
		}
		n += tag.RowsAffected()
	}
	return n, answers.Close()
}

func (s *pgSession) marked(ctx context.Context, namespace, task, date string) (upTo int, err error) {
	err = s.c.QueryRow(ctx, pgMarked, namespace, task, markerID(date, ""), afterMarkers(date), date).Scan(&upTo)
	return upTo, err
}

func (s *pgSession) prepare(ctx context.Context, st *statement) error {
	_, err := s.c.Prepare(ctx, "", st.sql)
	return err
}

func (s *pgSession) hasGuards(ctx context.Context) (there bool, err error) {
	err = s.c.QueryRow(ctx, "SELECT to_regclass('"+GuardTable+"') IS NOT NULL").Scan(&there)
	if err == nil && there {
		err = s.control(ctx, lookAtGuards)
	}
	return there, err
}

func (s *pgSession) makeGuards(ctx context.Context, trial bool) error {
	if there, err := s.hasGuards(ctx); err != nil || there {
		return err
	}
	steps := []string{"BEGIN", pgGuardLock, pgMakeGuards, "COMMIT"}
	if trial {
		steps[3] = "ROLLBACK"
	}
	for _, step := range steps {
		if err := s.control(ctx, step); err != nil {
			_ = s.control(ctx, "ROLLBACK") // the error is told
			return err
		}
	}
	return nil
}

// untransactional: all tables of PostgreSQL take part in transactions.
func (s *pgSession) untransactional(context.Context, []string) ([]string, error) { return nil, nil }
