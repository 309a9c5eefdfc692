//go:build !unix

package sqlite

import (
	"io/fs"
	"os"
)

// access knows only the read-only attribute here; SQLite finds out the rest.
func access(path string, write bool) error {
	st, err := os.Stat(path)
	if err == nil && write && !st.IsDir() && st.Mode().Perm()&0o200 == 0 {
		err = &fs.PathError{Op: "access", Path: path, Err: fs.ErrPermission}
	}
	return err
}

func isReadOnlyFS(error) bool { return false }

func ownerOf(fs.FileInfo) string { return "" }

func current() string { return "" }
