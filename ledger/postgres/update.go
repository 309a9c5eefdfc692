package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"runner/ledger"
	"runner/ledger/internal/table"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Update runs fn in one write transaction. Where that is lost to another
// transaction, or with its connection, fn is run again from the start: it must
// not keep what it did before.
func (s *Store) Update(ctx context.Context, fn func(ledger.Tx) error) error {
	if s.writer == nil {
		return &ledger.UnusableError{Path: s.at.shown, Why: "it was opened read-only"}
	}
	place, err := s.writer.Take(ctx)
	if err != nil {
		return err
	}
	defer s.writer.Put(place)
	return s.update(ctx, place, fn)
}

func (s *Store) update(ctx context.Context, place *slot, fn func(ledger.Tx) error) error {
	t := s.newTries()
	for {
		c, err := place.ready(ctx)
		if err == nil {
			var at opened
			err = s.try(context.WithoutCancel(ctx), c, &at, fn)
			ctx = context.WithoutCancel(ctx) // begun
			var unknown *errUnknown
			if errors.As(err, &unknown) {
				if done, werr := s.whether(place, at, unknown.trace); done || werr != nil {
					return werr
				}
			}
		}
		if err == nil || !t.again(ctx, err) {
			return err
		}
	}
}

// try runs fn once.
func (s *Store) try(ctx context.Context, c *conn, at *opened, fn func(ledger.Tx) error) error {
	committed := false
	defer func() {
		if !committed { // also if fn panics
			c.rollback()
			c.names = table.Names{}
		}
	}()
	c.begin(beginWriting, &s.clock, at)
	t := newTx(reader{c: c, ctx: ctx})
	err := fn(t)
	if t.err != nil && (err == nil || again(t.err)) {
		err = t.err // fn has overlooked it, or made something else of it
	}
	if err == nil && at.xact == "" { // to know whom to ask for later
		err = c.do(ctx)
	}
	if err == nil {
		err = c.commit(ctx, t)
	}
	committed = err == nil
	return err
}

// errUnknown says that the connection broke while the server was committing.
type errUnknown struct {
	err   error
	trace step
}

func (e *errUnknown) Error() string { return e.err.Error() }

func (e *errUnknown) Unwrap() error { return e.err }

// commit writes the counters and commits in one round trip.
func (c *conn) commit(ctx context.Context, t *tx) error {
	committed := false
	err := c.do(ctx, append(t.flush(), step{sql: "COMMIT", done: func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the server answered COMMIT with %s", tag)
		}
		committed = true
		return nil
	}})...)
	switch {
	case committed: // whatever came after it
		return nil
	case lost(err), hasClass(err, classShutdown): // maybe told while it waited for the disk
		return &errUnknown{err, t.trace}
	}
	return err
}

// whether finds out whether a transaction took effect whose commit wasn't
// answered. The server knows by its number; while that is still under way on a
// connection that nobody listens to, its process is ended.
//
// A server that crashes gives the numbers of transactions that it has lost to
// others, and so does a standby that was promoted without the newest commits.
// So a number that was committed proves nothing yet: there must be a trace of
// the transaction. One that leaves none is simply made again.
func (s *Store) whether(place *slot, at opened, trace step) (done bool, err error) {
	ctx := context.Background()
	t := s.newTries()
	for {
		status, err := s.fate(ctx, place, at, trace)
		switch {
		case err == nil && status == "committed":
			return true, nil
		case err == nil && status == "aborted":
			return false, nil
		case err == nil:
			err = &passingError{fmt.Errorf("it is still under way")}
		}
		if !t.again(ctx, err) {
			return false, &ledger.UnusableError{Path: s.at.shown, Why: "the connection was lost while it was being written to, and whether that took effect can't be found out",
				Hint: "look into the server's log; run again to go on: what took effect is recognised then", Err: s.at.scrubError(err)}
		}
	}
}

const fateSQL = "SELECT coalesce(pg_xact_status($1::text::xid8), 'aborted')"

// endSQL asks for the transaction too: the process may serve another by now.
const endSQL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $2 AND backend_xid = $1::text::xid8::xid"

func (s *Store) fate(ctx context.Context, place *slot, at opened, trace step) (status string, err error) {
	c, err := place.ready(ctx)
	if err != nil {
		return "", err
	}
	if err := c.do(ctx, step{sql: fateSQL, args: []any{at.xact}, rows: into(&status)}); err != nil {
		return "", err
	}
	switch status {
	case "in progress":
		// Without the right to, it ends by itself.
		_ = c.do(ctx, step{sql: endSQL, args: []any{at.xact, at.pid}})
	case "committed":
		there, err := s.left(ctx, c, trace)
		if err != nil {
			return "", err
		}
		if !there {
			return "aborted", nil
		}
	}
	return status, nil
}

// left looks for the trace of a transaction. The tables may lie where only the
// settings of a transaction lead.
func (s *Store) left(ctx context.Context, c *conn, trace step) (there bool, err error) {
	if trace.sql == "" {
		return false, nil
	}
	defer c.rollback()
	c.begin(beginReading, &s.clock, &opened{})
	trace.args = slices.Clone(trace.args) // this may be asked again
	trace.rows = into(&there)
	err = c.do(ctx, trace)
	return there, err
}

// passingError is one that may be gone in a moment.
type passingError struct{ err error }

func (e *passingError) Error() string { return e.err.Error() }

func (e *passingError) Unwrap() error { return e.err }

// again tells whether trying again may help.
func again(err error) bool {
	var p *passingError
	return errors.As(err, &p) || raced(err) || passing(err)
}

// tries is the patience of one call.
type tries struct {
	pause *backoff.ExponentialBackOff
	until time.Time
}

func (s *Store) newTries() tries { return tries{until: time.Now().Add(s.opts.Patience)} }

// again waits before the next try, or says that there is none.
func (t *tries) again(ctx context.Context, err error) bool {
	if !again(err) || ctx.Err() != nil {
		return false
	}
	if t.pause == nil {
		t.pause = backoff.NewExponentialBackOff()
		t.pause.InitialInterval, t.pause.MaxInterval = 5*time.Millisecond, 2*time.Second
	}
	d := t.pause.NextBackOff()
	if time.Now().Add(d).After(t.until) {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
