package postgres

import (
	"context"
	"time"

	"runner/ledger"
	"runner/ledger/internal/pool"
)

// Options say how to open a ledger.
type Options struct {
	ReadOnly bool   // creates and changes nothing
	Create   bool   // may create the tables
	Version  string // of the program; kept in table meta
	RunsDir  string // where the run files of this host lie
	// Patience is how long a transaction tries again when the server is gone
	// or restarts. 0: 30 s.
	Patience time.Duration
}

// Store is a ledger in a PostgreSQL database.
type Store struct {
	at      *address
	id      string
	schema  int // its version
	created bool
	opts    Options
	clock   clock
	writer  *pool.Pool[slot] // nil if read-only
	readers *pool.Pool[slot]
}

// A process has three connections at most. One writes: its transactions would
// only wait for each other's batch.
const maxReaders = 2

var (
	_ ledger.Store   = (*Store)(nil)
	_ ledger.Clock   = (*Store)(nil)
	_ ledger.Remover = (*Store)(nil)
)

// Open opens the ledger at an address, postgres://user:password@host/database,
// with ?search_path=SCHEMA if it isn't where the role looks by itself. It
// fails with ledger.ErrNoLedger if there is none and none may be created, and
// with *ledger.UnusableError if what is there can't be used.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	return open(ctx, url, o, embeddedSteps())
}

func open(ctx context.Context, url string, o Options, steps []migration) (*Store, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	s := &Store{at: &a, opts: o}
	s.readers = s.newPool(maxReaders)
	if !o.ReadOnly {
		s.writer = s.newPool(1)
	}
	if err := s.start(ctx, steps); err != nil {
		_ = s.Close() // it failed: that is what counts
		return nil, err
	}
	return s, nil
}

func (s *Store) newPool(size int) *pool.Pool[slot] {
	return pool.New(size, func() (*slot, error) { return &slot{at: s.at}, nil })
}

// start finds out what is there, and makes of it what this program needs.
func (s *Store) start(ctx context.Context, steps []migration) error {
	m, err := s.look(ctx)
	if err != nil {
		return err
	}
	switch {
	case m.version == len(steps):
	case m.version > len(steps):
		return s.at.tooNew(m.version, len(steps))
	case m.version == 0 && (s.opts.ReadOnly || !s.opts.Create):
		return s.at.noLedger()
	case s.opts.ReadOnly:
		return s.at.tooOld(m.version, len(steps))
	default:
		if m, err = s.migrate(ctx, steps); err != nil {
			return err
		}
	}
	s.id, s.schema = m.id, m.version
	return nil
}

// ID is the ledger's own UUID.
func (s *Store) ID() string { return s.id }

// Created tells whether this Open made the ledger.
func (s *Store) Created() bool { return s.created }

// Path is the ledger's address, without its password.
func (s *Store) Path() string { return s.at.shown }

// RunsDir is the folder of this host's run files.
func (s *Store) RunsDir() string { return s.opts.RunsDir }

// Schema is the version of the tables.
func (s *Store) Schema() int { return s.schema }

// Now is the time by the server's clock, as it was when a transaction last
// began.
func (s *Store) Now() time.Time { return s.clock.now() }

// Close waits for what is under way.
func (s *Store) Close() error {
	err := s.readers.Close((*slot).close)
	if s.writer == nil {
		return err
	}
	if werr := s.writer.Close((*slot).close); err == nil {
		err = werr
	}
	return err
}
