package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"time"

	"runner/ledger/internal/table"
)

// Health is what a ledger says of itself.
type Health struct {
	Damage []string  // what an integrity check found; nil also if it wasn't asked for
	Newest time.Time // the latest time that anything was written down with
}

// HealthQuery says what to ask a ledger for.
type HealthQuery struct {
	Integrity bool // read all of it: takes time where it is big
}

// maxDamage is how much of the damage is told.
const maxDamage = 5

// Health looks at the whole ledger. It only reads, and ctx may end it.
func (s *Store) Health(ctx context.Context, q HealthQuery) (h Health, err error) {
	c, err := s.readers.Take(ctx)
	if err != nil {
		return h, err
	}
	defer s.readers.Put(c)
	if q.Integrity {
		if h.Damage, err = c.damage(ctx); err != nil || len(h.Damage) > 0 {
			return h, err // what a damaged file says besides is worth nothing
		}
	}
	h.Newest, err = c.newest(ctx)
	return h, err
}

func (c *conn) damage(ctx context.Context) (found []string, err error) {
	err = c.queryOnce(ctx, "PRAGMA quick_check(5)", func(row []driver.Value) error {
		if text := str(row[0]); text != "ok" && len(found) < maxDamage {
			found = append(found, text)
		}
		return nil
	})
	if code := codeOf(err); code == codeCorrupt || code == codeNotADB {
		return append(found, err.Error()), nil
	}
	return found, err
}

func (c *conn) newest(ctx context.Context) (at time.Time, err error) {
	err = c.queryOnce(ctx, `SELECT max(t) FROM (
		SELECT max(max(started_at), max(coalesce(ended_at, 0))) AS t FROM run UNION ALL
		SELECT max(max(coalesce(created_at, 0)), max(coalesce(halted_at, 0))) FROM batch UNION ALL
		SELECT max(max(coalesce(started_at, 0)), max(coalesce(ended_at, 0))) FROM record WHERE `+table.OpenPredicate+`)`,
		func(row []driver.Value) error {
			if us := integer(row[0]); us > 0 {
				at = time.UnixMicro(us).UTC()
			}
			return nil
		})
	return at, err
}

// Examine opens the ledger at path for looking only, and calls fn: with
// nothing of SQLite's beside the ledger it makes none of that either, and
// calls fn again if somebody came to write in the meantime.
func Examine(ctx context.Context, path string, o Options, fn func(*Store) error) error {
	o.ReadOnly = true
	path, err := canonical(path)
	if err != nil {
		return err
	}
	before, err := os.Stat(path)
	if err == nil && !exists(path+"-wal") && !exists(path+"-shm") {
		err = examine(path, o, true, fn)
		after, serr := os.Stat(path)
		if serr == nil && os.SameFile(before, after) && before.ModTime().Equal(after.ModTime()) && !exists(path+"-wal") {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return examine(path, o, false, fn)
}

func examine(path string, o Options, immutable bool, fn func(*Store) error) (err error) {
	steps, err := embeddedSteps()
	if err != nil {
		return err
	}
	s := &Store{opts: o, path: path, steps: steps, now: time.Now, release: func() {}}
	if !immutable {
		if err := s.openReadOnly(); err != nil {
			s.abandon()
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		return fn(s)
	}
	_, _, err = s.claim(s.judge)
	if err != nil {
		return err
	}
	s.openReaders(true)
	defer func() { err = errors.Join(err, s.Close()) }()
	switch version, err := s.look(); {
	case err != nil:
		return err
	case version == 0:
		return noLedger(path)
	}
	return fn(s)
}
