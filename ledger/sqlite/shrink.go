package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"
)

// Pages are given back in transactions of about shrinkTime. A ledger of an
// earlier version of runner can't do that: SQLite has to write it anew, which
// keeps writers waiting, so it is done only if it is short and nobody runs.
const (
	shrinkTime = 30 * time.Millisecond
	shrinkMin  = 64
	shrinkMax  = 8192
	vacuumMax  = 256 << 20 // bytes
)

// Shrink gives empty pages back to the system.
func (s *Store) Shrink(ctx context.Context, alone bool) (note string, err error) {
	c, err := s.writer.Take(ctx)
	if err != nil {
		return "", err
	}
	defer s.writer.Put(c)
	mode, err := c.pragma("auto_vacuum")
	if err != nil {
		return "", err
	}
	if mode == 2 {
		err = s.shrinkSlowly(ctx, c)
	} else {
		note, err = s.vacuum(ctx, c, alone)
	}
	if err == nil { // the file gets shorter with a checkpoint; one that is hindered comes later
		_ = c.script("PRAGMA wal_checkpoint(PASSIVE)")
	}
	return note, err
}

func (c *conn) pragma(name string) (n int64, err error) {
	err = c.queryOnce(context.Background(), "PRAGMA "+name, func(row []driver.Value) error {
		n = integer(row[0])
		return nil
	})
	return n, err
}

func (s *Store) shrinkSlowly(ctx context.Context, c *conn) error {
	for n := int64(shrinkMin); ; {
		left, err := c.pragma("freelist_count")
		if err != nil || left == 0 {
			return err
		}
		release, err := s.lock.acquire(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		err = c.script(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", n))
		took := time.Since(began)
		release()
		if err != nil {
			return err
		}
		now, err := c.pragma("freelist_count")
		if err != nil || now >= left { // others need them as fast
			return err
		}
		if took > shrinkTime {
			n = max(n/2, shrinkMin)
		} else if took < shrinkTime/2 {
			n = min(2*n, shrinkMax)
		}
	}
}

func (s *Store) vacuum(ctx context.Context, c *conn, alone bool) (note string, err error) {
	var page, pages, free int64
	for name, into := range map[string]*int64{"page_size": &page, "page_count": &pages, "freelist_count": &free} {
		if *into, err = c.pragma(name); err != nil {
			return "", err
		}
	}
	mb := free * page >> 20
	switch {
	case free == 0:
		return "", nil
	case !alone:
		return fmt.Sprintf("%d MB of the ledger are free for new records; they are given back by an archive while no run is alive", mb), nil
	case (pages-free)*page > vacuumMax:
		return fmt.Sprintf("%d MB of the ledger are free for new records; to give them back, stop all runs and do: sqlite3 %s 'PRAGMA auto_vacuum = 2; VACUUM'", mb, s.path), nil
	}
	release, err := s.lock.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	return "", c.script("PRAGMA auto_vacuum = 2; VACUUM")
}
