package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"runner/ledger"
	"runner/ledger/internal/pool"

	sqlite3 "modernc.org/sqlite"
)

// networkFS names the file system of a folder if it is one on which locks
// can't be trusted. A variable, so that a test needs no NFS.
var networkFS = detectNetworkFS

func open(ctx context.Context, path string, o Options, steps []step) (*Store, error) {
	// As SQLite in C does where it can: a commit is as durable, and doesn't
	// wait for the file's timestamps. Elsewhere it stays fsync.
	_, _ = sqlite3.Fdatasync(true)
	s := &Store{opts: o, steps: steps, now: time.Now, release: func() {}}
	var err error
	if s.path, err = canonical(path); err != nil {
		return nil, err
	}
	s.lock = sideLock{path: s.path + ".lock", wait: lockWait}
	if !o.AllowNetworkFS {
		if err := refuseNetworkFS(s.path); err != nil {
			return nil, err
		}
	}
	if o.ReadOnly {
		err = s.openReadOnly()
	} else {
		err = s.openWriting(ctx)
	}
	if err == nil {
		s.file, err = os.Stat(s.path)
	}
	if err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

// inPlace fails if the file isn't the one that was opened: what is written to
// a removed file is gone when the last process closes it.
func (s *Store) inPlace() error {
	now, err := os.Stat(s.path)
	if err == nil && os.SameFile(s.file, now) {
		return nil
	}
	return &ledger.UnusableError{Path: s.path, Why: "it was removed or replaced while it was in use", Err: err,
		Hint: "put it back from a copy, with its -wal file, before the next run; what is in its .runs folder belongs to it"}
}

// abandon takes back what a failed open has taken.
func (s *Store) abandon() {
	if s.readers != nil {
		_ = s.readers.Close((*conn).close)
	}
	if s.writer != nil {
		_ = s.writer.Close((*conn).close)
	}
	s.release()
}

// canonical makes two names of one file the same, or the lock and the run
// files of one ledger would lie in two places.
func canonical(path string) (string, error) {
	p, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(p)
	if err == nil {
		return resolved, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", unreadable(p, err)
	}
	if st, err := os.Lstat(p); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		if _, err := os.Stat(p); err != nil {
			return "", &ledger.UnusableError{Path: p, Why: "it is a symbolic link to something that doesn't exist",
				Hint: "remove the link, or create what it names"}
		}
		return filepath.EvalSymlinks(p) // another process has just made it
	}
	dir, err := canonicalDir(filepath.Dir(p))
	return filepath.Join(dir, filepath.Base(p)), err
}

// canonicalDir resolves as much of a folder's name as exists.
func canonicalDir(dir string) (string, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	switch parent := filepath.Dir(dir); {
	case err == nil:
		return resolved, nil
	case !errors.Is(err, fs.ErrNotExist) || parent == dir:
		return "", unreadable(dir, err)
	default:
		resolved, err = canonicalDir(parent)
		return filepath.Join(resolved, filepath.Base(dir)), err
	}
}

func refuseNetworkFS(path string) error {
	dir := filepath.Dir(path)
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	kind, err := networkFS(dir)
	if err != nil {
		return fmt.Errorf("ask for the file system of %s: %w", dir, err)
	}
	if kind == "" {
		return nil
	}
	return &ledger.UnusableError{Path: path, Why: "it lies on " + kind + ", where locks can't be trusted",
		Hint: "put it on a local disk, use a postgres:// ledger, or take the risk with --allow-network-fs"}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// claims counts the stores of this process on each path. While there is one,
// nobody may open and close the file by other means than SQLite's: on Unix
// that drops all locks that the process holds on it.
var claims = struct {
	sync.Mutex
	n map[string]int
}{n: map[string]int{}}

// claim looks at the file, if no other store has it open, and registers this
// one. known tells whether h was read.
func (s *Store) claim(accept func(h header) error) (h header, known bool, err error) {
	claims.Lock()
	defer claims.Unlock()
	if claims.n[s.path] == 0 {
		known = true
		if h, err = readHeader(s.path); err == nil {
			err = accept(h)
		}
		if err != nil {
			return h, known, err
		}
	}
	claims.n[s.path]++
	s.release = sync.OnceFunc(func() {
		claims.Lock()
		defer claims.Unlock()
		claims.n[s.path]--
	})
	return h, known, nil
}

// openReadOnly neither creates nor changes anything. In a folder that it may
// write to, SQLite makes its -shm if it is missing.
func (s *Store) openReadOnly() error {
	_, _, err := s.claim(func(h header) error {
		if !h.fresh && s.halfMade() {
			return noLedger(s.path)
		}
		if err := s.judge(h); err != nil || !h.fresh {
			return err
		}
		return noLedger(s.path)
	})
	if err != nil {
		return err
	}
	// Without the right to make a -shm, and with nothing but the ledger to
	// read, nobody can be writing to it from here.
	immutable := access(filepath.Dir(s.path), true) != nil && size(s.path+"-wal") == 0
	s.openReaders(immutable)
	version, err := s.look()
	switch {
	case err != nil:
		return err
	case version == 0:
		return noLedger(s.path) // is being created at this moment
	case version < len(s.steps):
		return &ledger.UnusableError{Path: s.path,
			Why:  fmt.Sprintf("its schema is version %d, and this program reads version %d", version, len(s.steps)),
			Hint: "any command that writes, such as runner run, brings it up to date after a backup"}
	}
	return nil
}

func (s *Store) openReaders(immutable bool) {
	s.readers = pool.New(maxReaders, func() (*conn, error) {
		return dial(s.path, dsn(s.path, "ro", cacheReader, immutable))
	})
}

// look asks SQLite itself, because what the header says may be older than the
// WAL, and keeps the ledger's id.
func (s *Store) look() (version int, err error) {
	c, err := s.readers.Take(context.Background())
	if err != nil {
		return 0, err
	}
	defer s.readers.Put(c)
	v, err := c.state()
	if err != nil {
		return 0, err
	}
	if err := s.judge(header{appID: v.appID, version: v.version}); err != nil {
		return 0, err
	}
	if v.version > 0 {
		s.id, err = c.text("SELECT value FROM meta WHERE key = 'id'")
	}
	return int(v.version), err
}

func (c *conn) state() (h header, err error) {
	one := func(pragma string) (n int64) {
		if err == nil {
			err = c.queryOnce(context.Background(), pragma, func(row []driver.Value) error {
				n = integer(row[0])
				return nil
			})
		}
		return n
	}
	h.appID, h.version = uint32(one("PRAGMA application_id")), uint32(one("PRAGMA user_version"))
	return h, err
}

func noLedger(path string) error { return fmt.Errorf("%s: %w", path, ledger.ErrNoLedger) }

func size(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}
