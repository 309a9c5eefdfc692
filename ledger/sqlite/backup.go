package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// MetaBackupAt is when a backup was made, by the key of table meta in the copy.
const MetaBackupAt = "backup_at"

// Backup writes a consistent copy of the ledger while runs go on, checks it
// and only then gives it its name, which must not exist.
func (s *Store) Backup(ctx context.Context, file string) (size int64, err error) {
	if _, err := os.Lstat(file); err == nil {
		return 0, &os.PathError{Op: "back up to", Path: file, Err: os.ErrExist}
	}
	tmp := file + ".tmp"
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) // SQLite writes into it, and keeps its mode
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp) // half a copy is of no use
		}
	}()
	at := s.now()
	if err := s.copyChecked(ctx, tmp, at); err != nil {
		return 0, errors.Join(err, f.Close())
	}
	st, err := f.Stat()
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	if err := os.Link(tmp, file); err != nil { // unlike a rename, it replaces nothing
		return 0, err
	}
	return st.Size(), errors.Join(os.Remove(tmp), syncDir(filepath.Dir(file)))
}

func (s *Store) copyChecked(ctx context.Context, tmp string, at time.Time) error {
	c, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	err = c.copyTo(tmp)
	s.readers.put(c)
	if err != nil {
		return err
	}
	if c, err = dial(tmp, dsn(tmp, "rw", cacheReader, false)); err != nil {
		return err
	}
	defer c.close() // what matters is synced below
	if _, err := c.exec("INSERT OR REPLACE INTO meta(key, value) VALUES ($1, $2)", MetaBackupAt, at.UTC().Format(time.RFC3339Nano)); err != nil {
		return err
	}
	damage, err := c.damage(ctx)
	if err == nil && len(damage) > 0 {
		err = fmt.Errorf("the copy is damaged: %s", damage[0])
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // Windows refuses
	return d.Close()
}

// CopyBackup copies a backup beside the ledger at path, where it can be made
// ready, and gives the name of the copy.
func CopyBackup(backup, path string, now time.Time) (name string, err error) {
	in, err := os.Open(backup)
	if err != nil {
		return "", err
	}
	defer in.Close() // it was only read
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	name = path + ".restoring-" + now.UTC().Format("20060102T150405.000Z")
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	return name, errors.Join(err, out.Sync(), out.Close())
}

// Discard removes a copy of CopyBackup and what SQLite laid beside it.
func Discard(name string) {
	for _, end := range []string{"", "-wal", "-shm", "-journal", ".lock"} {
		_ = os.Remove(name + end) // most aren't there
	}
}

// Replace puts a closed ledger in the place of the one at path, which is kept
// under the name it gives. At each moment there is a ledger at path, so nobody
// makes an empty one; who has the old one open finds that it was replaced.
func Replace(ctx context.Context, path, by string, now time.Time) (kept string, err error) {
	if path, err = canonical(path); err != nil {
		return "", err
	}
	lock := sideLock{path: path + ".lock", wait: lockWait}
	release, err := lock.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	if exists(path) {
		kept = path + ".before-" + now.UTC().Format("20060102T150405.000Z")
		if err := os.Link(path, kept); err != nil {
			return "", err
		}
		for _, end := range []string{"-wal", "-journal", ".runs"} { // they would be taken for the new one's
			if exists(path + end) {
				if err := os.Rename(path+end, kept+end); err != nil {
					return kept, err
				}
			}
		}
		_ = os.Remove(path + "-shm")
	}
	if err := os.Rename(by, path); err != nil {
		return kept, err
	}
	Discard(by)
	return kept, syncDir(filepath.Dir(path))
}
