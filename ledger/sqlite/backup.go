package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"runner/ledger/internal/durable"
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
	if err := giveName(tmp, file, os.Link); err != nil {
		return 0, err
	}
	return st.Size(), durable.SyncDir(filepath.Dir(file))
}

// giveName renames a file to a name that must not exist. A hard link does that
// in one step; where there are none, as on FAT and some network disks, an empty
// file takes the name first, and only that is replaced.
func giveName(tmp, file string, link func(from, to string) error) error {
	err := link(tmp, file)
	if err == nil {
		return os.Remove(tmp)
	}
	if errors.Is(err, os.ErrExist) {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(f.Close(), os.Rename(tmp, file)); err != nil {
		_ = os.Remove(file) // it is empty, and would be taken for a backup
	}
	return err
}

func (s *Store) copyChecked(ctx context.Context, tmp string, at time.Time) error {
	c, err := s.readers.Take(ctx)
	if err != nil {
		return err
	}
	err = c.copyTo(tmp)
	s.readers.Put(c)
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

// CopyBackup copies a backup beside the ledger at path, where it can be made
// ready, and gives the name of the copy.
func CopyBackup(backup, path string, now time.Time) (name string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	name = path + ".restoring-" + now.UTC().Format("20060102T150405.000Z")
	return name, copyFile(backup, name)
}

// copyFile makes a durable copy under a name that must not exist.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // it was only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// keep gives the ledger at path a second name, or where there are no hard links
// makes a copy: at each moment there is one at path.
func keep(path, kept string, link func(from, to string) error) error {
	err := link(path, kept)
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	return copyFile(path, kept)
}

// Discard removes a copy of CopyBackup and what SQLite laid beside it.
func Discard(name string) {
	for _, end := range []string{"", "-wal", "-shm", "-journal", ".lock"} {
		_ = os.Remove(name + end) // most aren't there
	}
}

// Replace puts a closed ledger in the place of the one at path. That one, or what
// is left of it, is kept under names that begin with the one it gives. At each
// moment there is something at path, so nobody makes an empty ledger; who has the
// old one open finds that it was replaced.
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
	if kept, err = setAside(path, path+".before-"+now.UTC().Format("20060102T150405.000Z")); err != nil {
		return kept, err
	}
	if err := os.Rename(by, path); err != nil {
		return kept, err
	}
	Discard(by)
	return kept, durable.SyncDir(filepath.Dir(path))
}

// setAside keeps what would be taken for the new ledger's. It gives the name if
// there was anything.
func setAside(path, name string) (kept string, err error) {
	if size(path) > 0 {
		kept, err = name, keep(path, name, os.Link)
	} else { // what isn't a ledger stands in for it until the new one is there
		err = os.WriteFile(path, []byte("runner ledger restore-backup FILE was cut off here; it can be given again\n"), 0o600)
	}
	if err != nil {
		return kept, err
	}
	for _, end := range []string{"-wal", "-journal", ".runs"} {
		if !exists(path + end) {
			continue
		}
		kept = name
		if err := os.Rename(path+end, name+end); err != nil {
			return kept, err
		}
	}
	_ = os.Remove(path + "-shm")
	return kept, nil
}
