package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"runner/ledger"
)

// applicationID marks a ledger among SQLite files: "runr".
const applicationID = 0x72756e72

// header is what the first page of the file says.
type header struct {
	fresh   bool // no file, an empty one, or a database that nobody has used
	wal     bool // in WAL mode
	appID   uint32
	version uint32
}

// readHeader reads without SQLite, which may change what it opens. What isn't
// a ledger, or an empty file that can become one, is an UnusableError.
func readHeader(path string) (h header, err error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return header{fresh: true}, nil
	case err != nil:
		return h, unreadable(path, err)
	case st.IsDir():
		return h, &ledger.UnusableError{Path: path, Why: "it is a folder", Hint: "name a file with --ledger"}
	case !st.Mode().IsRegular():
		return h, &ledger.UnusableError{Path: path, Why: "it is no regular file", Hint: "name a file with --ledger"}
	case st.Size() == 0:
		return header{fresh: true}, nil
	}
	b, err := firstBytes(path)
	if err != nil {
		return h, unreadable(path, err)
	}
	return parseHeader(path, b, st.Size())
}

func firstBytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 108)
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return b[:n], err
}

// parseHeader follows https://www.sqlite.org/fileformat.html, section 1.3.
func parseHeader(path string, b []byte, size int64) (header, error) {
	if len(b) < 108 || string(b[:16]) != "SQLite format 3\x00" {
		return header{}, notSQLite(path, nil)
	}
	h := header{
		wal:     b[18] == 2 && b[19] == 2,
		version: binary.BigEndian.Uint32(b[60:]),
		appID:   binary.BigEndian.Uint32(b[68:]),
	}
	if h.appID == applicationID {
		return h, nil
	}
	page := int64(binary.BigEndian.Uint16(b[16:]))
	if page == 1 {
		page = 65536
	}
	// Page 1 is a leaf of the schema's table, without a cell.
	empty := size == page && b[100] == 0x0d && binary.BigEndian.Uint16(b[103:]) == 0
	if h.appID == 0 && h.version == 0 && empty && sizeOfWAL(path) == 0 {
		return header{fresh: true}, nil
	}
	return h, foreign(path)
}

func sizeOfWAL(path string) int64 { return size(path + "-wal") }

func foreign(path string) error {
	return &ledger.UnusableError{Path: path, Why: "it is an SQLite database, but not a ledger of runner",
		Hint: "name another file with --ledger"}
}

// judge refuses what another program, or a newer one, has written, and the place
// of a ledger that is lost.
func (s *Store) judge(h header) error {
	switch {
	case h.fresh:
		return s.refuseLost()
	case h.appID != applicationID && (h.appID != 0 || h.version != 0):
		return foreign(s.path)
	case int(h.version) > len(s.steps):
		return &ledger.UnusableError{Path: s.path,
			Why:  fmt.Sprintf("its schema is version %d, and this program knows versions up to %d", h.version, len(s.steps)),
			Hint: "use the runner that wrote it, or a newer one"}
	}
	return nil
}

// refuseLost fails if a ledger isn't there and what belongs to it is. An empty one
// in its place would have forgotten everything.
func (s *Store) refuseLost() error {
	for _, relic := range []string{s.path + "-wal", s.RunsDir(), s.path + ".archive"} {
		if !holdsAny(relic) {
			continue
		}
		if h, err := readHeader(s.path); err != nil || !h.fresh {
			return err // another process has just made it
		}
		return &ledger.UnusableError{
			Path: s.path, Why: "it is gone, though " + relic + " still belongs to it",
			Hint: "put it back from a copy, or from a backup with: runner ledger restore-backup FILE; to begin anew, move " + relic + " away",
		}
	}
	return nil
}

// holdsAny tells whether a file holds anything, or a folder any file. One that
// begins with a dot is being made at this moment.
func holdsAny(path string) bool {
	names, err := os.ReadDir(path)
	if err != nil {
		return size(path) > 0
	}
	return slices.ContainsFunc(names, func(e fs.DirEntry) bool { return e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") })
}
