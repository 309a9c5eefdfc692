package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"runner/ledger"
)

// refuseUnwritable answers a ledger that can't be written before anything is
// done. A file of SQLite's own that another user left is as bad as the ledger
// itself.
func (s *Store) refuseUnwritable() error {
	dir := filepath.Dir(s.path)
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	if st, err := os.Stat(s.path); err == nil && !st.Mode().IsRegular() {
		return nil // readHeader says it better
	}
	for _, p := range []string{s.path, s.path + "-wal", s.path + "-shm", s.lock.path, dir, s.RunsDir()} {
		err := access(p, true)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unwritableAt(s.path, p, err)
		}
	}
	return nil
}

// unreadable explains why path can't even be looked at.
func unreadable(path string, err error) error {
	e := &ledger.UnusableError{Path: path, Why: "it can't be read", Err: err}
	if errors.Is(err, fs.ErrPermission) {
		e.Why, e.Hint = blame(path)
	}
	return e
}

func unwritable(path string, err error) error { return unwritableAt(path, filepath.Dir(path), err) }

// unwritableAt names at, which is the ledger, a file beside it or a folder.
func unwritableAt(path, at string, err error) error {
	e := &ledger.UnusableError{Path: path, Err: err}
	switch {
	case isReadOnlyFS(err):
		e.Why = at + " is on a read-only file system"
		e.Hint = "put the ledger where it can be written: --ledger FILE"
	case errors.Is(err, fs.ErrPermission):
		e.Why, e.Hint = blame(at)
	default:
		e.Why = at + " can't be written"
		e.Hint = "put the ledger where it can be written: --ledger FILE"
	}
	return e
}

// blame says whose file it is, who we are, and how to change that.
func blame(path string) (why, hint string) {
	at := path
	st, err := os.Stat(at)
	for err != nil && filepath.Dir(at) != at { // the folder above forbids to look
		at = filepath.Dir(at)
		st, err = os.Stat(at)
	}
	owner, me := ownerOf(st), current()
	switch {
	case err != nil || owner == "" || me == "":
		return at + " can't be written: permission denied", "change its mode, or put the ledger elsewhere: --ledger FILE"
	case owner == me:
		return fmt.Sprintf("%s (mode %04o) is not writable for its owner %s", at, st.Mode().Perm(), owner),
			fmt.Sprintf("chmod u+w %s", at)
	}
	why = fmt.Sprintf("%s belongs to %s, and this is %s", at, owner, me)
	if own := filepath.Base(at) == ".runner"; at != path && !own { // a folder with other things in it
		return why, fmt.Sprintf("run as %s, or put the ledger elsewhere: --ledger FILE", owner)
	}
	return why, fmt.Sprintf("sudo chown -R %s %s, or run as %s", me, at, owner)
}
