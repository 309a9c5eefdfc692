package postgres

import (
	"context"
	"time"

	"runner/ledger"

	"github.com/jackc/pgx/v5/pgconn"
)

var _ ledger.Leaser = (*Store)(nil)

// nowSQL is the time by the clock of this server, not that at which the
// transaction began: it may have waited.
const nowSQL = "(extract(epoch FROM clock_timestamp())*1000000)::bigint"

const (
	firstLeaseSQL = "UPDATE run SET lease_until = " + nowSQL + " + nullif($2::bigint, 0) WHERE id = $1 RETURNING no"
	renewSQL      = "UPDATE run SET lease_until = " + nowSQL + " + $2::bigint WHERE id = $1 AND ended_at IS NULL AND condemned_at IS NULL"
	condemnSQL    = "UPDATE run SET condemned_at = coalesce(condemned_at, " + nowSQL + "), lease_until = least(lease_until, " + nowSQL + ") " +
		"WHERE id = $1 AND ended_at IS NULL AND (condemned_at IS NOT NULL OR $2::boolean OR lease_until < " + nowSQL + ")" +
		" AND pg_try_advisory_xact_lock(" + aliveClass + ", hashtext($1))" // else it claims at this moment: see stayAlive
)

// Renew makes the lease of a run end d from now.
func (s *Store) Renew(ctx context.Context, runID string, d time.Duration) (bool, error) {
	return s.lease(ctx, renewSQL, runID, d.Microseconds())
}

// Condemn makes a dead run dead for good.
func (s *Store) Condemn(ctx context.Context, runID string, proven bool) (bool, error) {
	return s.lease(ctx, condemnSQL, runID, proven)
}

// lease writes to the row of a run, and tells whether it did. It takes a
// connection of the readers: a transaction that waits must not cost the lease.
// It is tried once, as whoever asks will ask again.
func (s *Store) lease(ctx context.Context, query string, args ...any) (did bool, err error) {
	if s.writer == nil {
		return false, &ledger.UnusableError{Path: s.at.shown, Why: "it was opened read-only"}
	}
	place, err := s.readers.Take(ctx)
	if err != nil {
		return false, err
	}
	defer s.readers.Put(place)
	c, err := place.ready(ctx)
	if err != nil {
		return false, err
	}
	var at opened
	err = s.try(ctx, c, &at, func(t ledger.Tx) error {
		return t.(*tx).do(step{sql: query, args: args, done: func(tag pgconn.CommandTag) error {
			did = tag.RowsAffected() > 0
			return nil
		}})
	})
	return did && err == nil, err
}
