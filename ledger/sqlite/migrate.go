package sqlite

import (
	"context"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

//go:embed migrations/*.sql
var migrations embed.FS

// step is one version of the schema: its SQL leads there from the one before.
type step struct{ name, sql string }

// embeddedSteps are numbered by their names. One that was released is never
// edited: a change of the schema is a new file.
func embeddedSteps() ([]step, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{filepath.Base(name), string(text)})
	}
	return steps, nil
}

// migrate takes all steps that are missing in one transaction, after a copy
// of what is there. The side lock is held.
func (s *Store) migrate(c *conn) error {
	for {
		h, err := c.state()
		if err != nil {
			return err
		}
		from := int(h.version)
		if from >= len(s.steps) {
			return s.judge(h)
		}
		seen, err := c.dataVersion()
		if err != nil {
			return err
		}
		backup := ""
		if from > 0 {
			if backup, err = s.backup(c, from); err != nil {
				return err
			}
		}
		moved, err := s.climb(c, from, seen)
		if (err != nil || moved) && backup != "" {
			err = errors.Join(err, os.Remove(backup))
		}
		if !moved || err != nil {
			return err
		}
	}
}

// dataVersion changes when another connection has written.
func (c *conn) dataVersion() (n int64, err error) {
	err = c.queryOnce(context.Background(), "PRAGMA data_version", func(row []driver.Value) error {
		n = integer(row[0])
		return nil
	})
	return n, err
}

// climb runs the steps above from. moved says that someone who doesn't honour
// the side lock wrote since the backup, and nothing was done.
func (s *Store) climb(c *conn, from int, seen int64) (moved bool, err error) {
	if err := c.begin(context.Background()); err != nil {
		return false, err
	}
	defer func() {
		if moved || err != nil {
			c.rollback()
		}
	}()
	now, err := c.dataVersion()
	if err != nil || now != seen {
		return err == nil, err
	}
	for _, st := range s.steps[from:] {
		if err := c.script(st.sql); err != nil {
			return false, fmt.Errorf("ledger %s: bring the schema up to date: %s: %w", s.path, st.name, err)
		}
	}
	if from == 0 {
		if err := s.writeMeta(c); err != nil {
			return false, err
		}
	}
	if err := c.script(fmt.Sprintf("PRAGMA user_version = %d", len(s.steps))); err != nil {
		return false, err
	}
	if _, err := c.exec("COMMIT"); err != nil {
		return false, err
	}
	s.created = from == 0
	return false, nil
}

func (s *Store) writeMeta(c *conn) error {
	for _, kv := range [][2]string{
		{"id", uuid.NewString()},
		{"created_at", s.now().UTC().Format("2006-01-02T15:04:05.000Z")},
		{"version", s.opts.Version},
	} {
		if _, err := c.exec("INSERT INTO meta(key, value) VALUES ($1, $2)", kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

// backup copies the ledger beside itself and syncs the copy.
func (s *Store) backup(c *conn, from int) (name string, err error) {
	stem := fmt.Sprintf("%s.v%d.%s", s.path, from, s.now().UTC().Format("20060102T150405Z"))
	name = stem + ".bak"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	for n := 2; errors.Is(err, fs.ErrExist); n++ {
		name = fmt.Sprintf("%s.%d.bak", stem, n)
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return "", unwritable(s.path, err)
	}
	// SQLite writes into the empty file, which keeps its mode.
	if err := c.copyTo(name); err != nil {
		return "", errors.Join(fmt.Errorf("back up the ledger before its schema changes: %w", err), f.Close(), os.Remove(name))
	}
	return name, errors.Join(f.Sync(), f.Close())
}

func (c *conn) copyTo(name string) error {
	_, err := c.c.(driver.ExecerContext).ExecContext(context.Background(), "VACUUM INTO $1",
		[]driver.NamedValue{{Ordinal: 1, Value: name}})
	return explain(c.path, err)
}
