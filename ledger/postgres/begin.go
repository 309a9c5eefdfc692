package postgres

import (
	"context"
	"strings"
	"time"

	"runner/ledger"

	"github.com/jackc/pgx/v5"
)

// lockTimeout is how long a statement waits for a lock of another transaction.
const lockTimeout = "10 s"

// opening is the statement after BEGIN: it makes the settings of the
// transaction and tells its number, its server process and the time.
//
// Whoever is stopped in the middle of a transaction, or loses its host, loses it
// with its locks before those who wait for them give up. A role that commits without waiting for the disk is made to.
const opening = `SELECT (extract(epoch FROM clock_timestamp())*1000000)::bigint, pg_backend_pid(), %s,
set_config('lock_timeout', '10s', true), set_config('statement_timeout', '0', true),
set_config('idle_in_transaction_session_timeout', '8s', true),
set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true),
set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
set_config('enable_mergejoin', 'off', true), set_config('random_page_cost', '0.1', true),
CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END,
set_config('search_path', coalesce($1, current_setting('search_path')), true)`

var (
	openWriting = strings.Replace(opening, "%s", "pg_current_xact_id()::text", 1)
	openReading = strings.Replace(opening, "%s", "''", 1)
)

const (
	beginWriting = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	beginReading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	beginLooking = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY" // whether there is a table, and then into it
)

// opened is what a transaction is told at its start.
type opened struct {
	pid  int64
	xact string // its number; empty until the server has answered
}

// begin queues the start of a transaction: it goes with the first statement.
func (c *conn) begin(begin string, k *clock, o *opened) {
	query := openReading
	if begin == beginWriting {
		query = openWriting
	}
	var path any
	if c.at.searchPath != "" {
		path = c.at.searchPath
	}
	sent := time.Now()
	c.opening = []step{{sql: begin}, {sql: query, args: []any{path}, rows: func(r pgx.Rows) error {
		row, err := r.Values()
		if err != nil {
			return err
		}
		k.sample(sent, time.Now(), row[0].(int64))
		o.pid, o.xact = int64(row[1].(int32)), row[2].(string)
		c.prepares = begin == beginWriting && c.ours(o.pid) && !c.at.shared.Load()
		return nil
	}}}
}

// View runs fn on one consistent snapshot. Where the connection breaks, it is
// run again on another one, from the start.
func (s *Store) View(ctx context.Context, fn func(ledger.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	place, err := s.readers.Take(ctx)
	if err != nil {
		return err
	}
	defer s.readers.Put(place)
	t := s.newTries()
	for {
		broken, err := s.view(ctx, place, fn)
		if broken == nil || !t.again(ctx, broken) {
			return err
		}
	}
}

// view is one try of View. broken is why fn couldn't be shown the ledger.
func (s *Store) view(ctx context.Context, place *slot, fn func(ledger.Reader) error) (broken, err error) {
	c, err := s.snapshot(ctx, place)
	if err != nil {
		return err, err
	}
	defer c.rollback()
	r := &reader{c: c, ctx: ctx}
	if err = fn(r); err == nil {
		err = r.err // fn has overlooked it
	}
	return r.err, err
}

func (s *Store) snapshot(ctx context.Context, place *slot) (*conn, error) {
	c, err := place.ready(ctx)
	if err != nil {
		return nil, err
	}
	var o opened
	c.begin(beginReading, &s.clock, &o)
	if err := c.do(ctx); err != nil {
		c.rollback()
		return nil, err
	}
	return c, nil
}

// rollback ends a transaction. What it has made is forgotten; a connection on
// which that doesn't work is given up.
func (c *conn) rollback() {
	c.opening, c.queue = nil, nil
	if c.c.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if c.c.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := c.c.Exec(ctx, "ROLLBACK"); err != nil {
		_ = c.c.Close(ctx) // it is of no use any more
	}
}
