package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"runner/ledger"
)

// Site is what can be seen of a ledger without opening it.
type Site struct {
	Path          string // absolute, symbolic links resolved
	Folder        string // it lies in; the nearest one that exists
	Exists        bool   // there is a ledger, not only an empty file
	Err           error  // why there can't be one; nil if there can
	Size, WALSize int64  // in bytes
	Schema, Known int    // version of its schema, newest that this program knows
	Network       error  // why its file system can't be trusted; nil if it can
	// Unwritable are files and folders that a command that writes needs and
	// can't write: an UnusableError each.
	Unwritable []error
	Owners     []Owned
	Me         string // empty where files have no owners
}

// Owned is a file or folder of a ledger.
type Owned struct{ Path, Owner string }

// Survey looks at the place of a ledger, and changes nothing.
func Survey(path string) Site {
	at := Site{Path: path, Me: current()}
	steps, err := embeddedSteps()
	if err != nil {
		at.Err = err
		return at
	}
	at.Known = len(steps)
	p, err := canonical(path)
	if err != nil {
		at.Err = err
		return at
	}
	s := &Store{path: p, steps: steps}
	at.Path = p
	at.Folder = filepath.Dir(p)
	for !exists(at.Folder) && filepath.Dir(at.Folder) != at.Folder {
		at.Folder = filepath.Dir(at.Folder)
	}
	at.Network = refuseNetworkFS(p)
	at.look(s)
	at.rights(s)
	return at
}

// look reads the header, unless this process has the ledger open.
func (at *Site) look(s *Store) {
	at.Size, at.WALSize = size(s.path), sizeOfWAL(s.path)
	claims.Lock()
	defer claims.Unlock()
	if claims.n[s.path] > 0 {
		at.Exists = true
		return
	}
	h, err := readHeader(s.path)
	if err == nil {
		err = s.judge(h)
	}
	at.Exists, at.Err, at.Schema = err == nil && !h.fresh, err, int(h.version)
}

// rights asks for all that refuseUnwritable asks for, and names it all.
func (at *Site) rights(s *Store) {
	needed := []string{s.path, s.path + "-wal", s.path + "-shm", s.path + ".lock", at.Folder, s.RunsDir()}
	for _, p := range needed {
		if err := access(p, true); err != nil && !errors.Is(err, fs.ErrNotExist) {
			at.Unwritable = append(at.Unwritable, unwritableAt(s.path, p, err))
		}
		if p != at.Folder {
			at.own(p)
		}
	}
	files, _ := os.ReadDir(s.RunsDir()) // what can't be listed is told above
	for _, f := range files {
		at.own(filepath.Join(s.RunsDir(), f.Name()))
	}
}

func (at *Site) own(path string) {
	if st, err := os.Lstat(path); err == nil {
		at.Owners = append(at.Owners, Owned{path, ownerOf(st)})
	}
}

// Denied tells whether an error of a Site is one of rights, rather than of a
// read-only file system.
func Denied(err error) bool {
	var u *ledger.UnusableError
	return errors.As(err, &u) && errors.Is(u.Err, fs.ErrPermission)
}
