package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"runner/ledger"
	"runner/ledger/internal/pool"
)

// openWriting opens, creates or migrates the ledger. Everything that may
// refuse comes before anything is made or changed.
func (s *Store) openWriting(ctx context.Context) error {
	if err := s.refuseUnwritable(); err != nil {
		return err
	}
	h, known, err := s.claim(s.acceptOrCreate)
	if err != nil {
		return err
	}
	if known && h.wal && !h.fresh && !s.halfMade() {
		s.openReaders(false)
		if version, err := s.look(); err != nil {
			return err
		} else if version == len(s.steps) { // the usual start
			return s.openWriter()
		}
	}
	return s.prepare(ctx)
}

// halfMade tells whether who made the ledger was killed at it: there is a
// rollback journal, which only a writer can roll back.
func (s *Store) halfMade() bool { return size(s.path+"-journal") > 0 }

// acceptOrCreate makes the file where it may: nobody but its owner may read
// it, and SQLite would make it readable for all. It runs under the lock of
// claims.
func (s *Store) acceptOrCreate(h header) error {
	if err := s.judge(h); err != nil || !h.fresh {
		return err
	}
	if !s.opts.Create {
		return noLedger(s.path)
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return unwritable(s.path, err)
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // empty, or another process was faster
	}
	if err != nil {
		return unwritable(s.path, err)
	}
	return f.Close()
}

// prepare makes an empty file a ledger, or brings an older one up to date. It
// holds the side lock, so that of many processes that start at once one does
// it and the others find it done.
func (s *Store) prepare(ctx context.Context) error {
	release, err := s.lock.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.openWriter(); err != nil {
		return err
	}
	c, err := s.writer.Take(ctx)
	if err != nil {
		return err
	}
	defer s.writer.Put(c)
	h, err := c.state()
	if err != nil {
		return err
	}
	if err := s.judge(h); err != nil {
		return err
	}
	if h.version == 0 && !s.opts.Create {
		return noLedger(s.path)
	}
	if err := c.adopt(ctx, h); err != nil {
		return err
	}
	if err := s.migrate(c); err != nil {
		return err
	}
	if s.readers == nil {
		s.openReaders(false)
	}
	_, err = s.look()
	return err
}

// openWriter opens the writing pool.
func (s *Store) openWriter() error {
	s.writer = pool.New(1, func() (*conn, error) {
		return dial(s.path, dsn(s.path, "rw", cacheWriter, false))
	})
	c, err := s.writer.Take(context.Background())
	if err != nil {
		return err
	}
	s.writer.Put(c)
	return nil
}

// adopt marks the file as a ledger before it goes into WAL mode: from then on
// the mark would stay in the WAL for a while, and who is killed in between
// would leave a file that nobody takes for a ledger.
func (c *conn) adopt(ctx context.Context, h header) error {
	if h.appID == 0 {
		tables, err := c.number("SELECT count(*) FROM sqlite_schema")
		if err != nil {
			return err
		}
		if tables > 0 {
			return foreign(c.path)
		}
		// Pages that an archive has emptied can then be given back bit by bit.
		if err := c.script("PRAGMA auto_vacuum = 2"); err != nil {
			return err
		}
		if err := c.script("PRAGMA application_id = 1920298610"); err != nil {
			return err
		}
	}
	// Going into WAL mode needs the file for oneself, and doesn't wait for it
	// as other statements do.
	for deadline := time.Now().Add(lockWait); ; {
		mode, err := c.journalMode()
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return &ledger.UnusableError{Path: c.path, Why: "its file system can't hold an SQLite ledger (no WAL)",
				Hint: "put it on a local disk"}
		case codeOf(err) != codeBusy || time.Now().After(deadline):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *conn) journalMode() (mode string, err error) {
	err = c.queryOnce(context.Background(), "PRAGMA journal_mode = WAL", func(row []driver.Value) error {
		mode = strings.ToLower(str(row[0]))
		return nil
	})
	return mode, err
}
