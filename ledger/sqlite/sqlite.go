package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"runner/ledger"
	"runner/ledger/internal/pool"
	"runner/ledger/internal/table"
)

// Options say how to open a ledger.
type Options struct {
	ReadOnly       bool   // creates nothing, takes no write lock
	Create         bool   // may create the ledger, and its folder
	AllowNetworkFS bool   // on one's own risk: locks may not hold there
	Version        string // of the program; kept in table meta
}

// Store is a ledger in an SQLite file.
type Store struct {
	path    string
	id      string
	created bool
	opts    Options
	lock    sideLock
	file    fs.FileInfo // as it was opened
	steps   []step
	now     func() time.Time
	release func()           // of the path; see claims
	writer  *pool.Pool[conn] // nil if read-only
	readers *pool.Pool[conn]
}

// One connection writes: SQLite has one writer at a time anyway, and a queue
// in Go is fair. Reads are short and have their own few.
const maxReaders = 4

var _ ledger.Store = (*Store)(nil)

// Open opens the ledger at path. It fails with ledger.ErrNoLedger if there is
// none and none may be created, and with *ledger.UnusableError if what is
// there can't be used; it then has changed nothing.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	steps, err := embeddedSteps()
	if err != nil {
		return nil, err
	}
	return open(ctx, path, o, steps)
}

// ID is the ledger's own UUID.
func (s *Store) ID() string { return s.id }

// Created tells whether this Open made the ledger.
func (s *Store) Created() bool { return s.created }

// Path is the absolute path of the ledger, symbolic links resolved.
func (s *Store) Path() string { return s.path }

// Schema is the version of the tables.
func (s *Store) Schema() int { return len(s.steps) }

// RunsDir is the folder of the run files.
func (s *Store) RunsDir() string { return s.path + ".runs" }

// Close waits for what is under way. The writer goes last: it folds the WAL
// into the ledger.
func (s *Store) Close() error {
	err := s.readers.Close((*conn).close)
	if s.writer != nil {
		err = errors.Join(err, s.writer.Close((*conn).close))
	}
	s.release()
	return explain(s.path, err)
}

// View runs fn on one consistent snapshot.
func (s *Store) View(ctx context.Context, fn func(ledger.Reader) error) error {
	c, err := s.readers.Take(ctx)
	if err != nil {
		return err
	}
	defer s.readers.Put(c)
	if _, err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() { _, _ = c.exec("ROLLBACK") }() // also if fn panics
	return fn(&reader{c: c, ctx: ctx})
}

// Update runs fn in one write transaction.
//
// On a full disk it truncates the WAL. After that, or where fn has built on what
// isn't true any more, it runs fn once more, on a new Tx: fn may be called twice,
// and must not keep what it did the first time.
func (s *Store) Update(ctx context.Context, fn func(ledger.Tx) error) error {
	if s.writer == nil {
		return &ledger.UnusableError{Path: s.path, Why: "it was opened read-only"}
	}
	c, err := s.writer.Take(ctx)
	if err != nil {
		return err
	}
	defer s.writer.Put(c)
	release, err := s.lock.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()

	if err := s.inPlace(); err != nil {
		return err
	}
	err = c.update(ctx, fn)
	switch {
	case errors.Is(err, ledger.ErrRaced): // on what fn has brought: what it reads here is true
	case codeOf(err) == codeFull && c.script("PRAGMA wal_checkpoint(TRUNCATE)") == nil:
	default:
		return err
	}
	return c.update(context.WithoutCancel(ctx), fn) // begun
}

// update is one try of Update.
func (c *conn) update(ctx context.Context, fn func(ledger.Tx) error) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // also if fn panics
			c.rollback()
		}
	}()
	t := &tx{reader: reader{c: c, ctx: context.WithoutCancel(ctx)}, deltas: map[int64]*delta{}}
	t.before = t.flush
	err := fn(t)
	if err == nil {
		err = t.finish()
	}
	if err == nil {
		_, err = c.exec("COMMIT")
	}
	done = err == nil
	return err
}

// begin waits for the write lock at most as long as ctx lasts.
func (c *conn) begin(ctx context.Context) error {
	_, err := c.execContext(ctx, "BEGIN IMMEDIATE")
	if err != nil {
		c.rollback() // the driver reports an interrupt even when BEGIN had worked
	}
	return err
}

// rollback fails only where SQLite has rolled back by itself. Numbers given
// out in the transaction are free again, so what the connection remembers of
// them is forgotten.
func (c *conn) rollback() {
	_, _ = c.exec("ROLLBACK")
	c.names = table.Names{}
}
