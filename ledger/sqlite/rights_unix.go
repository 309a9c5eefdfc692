//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// access asks the system, which knows of read-only mounts, capabilities and
// access lists; mode bits don't.
func access(path string, write bool) error {
	mode := uint32(unix.R_OK)
	if write {
		mode |= unix.W_OK
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		mode |= unix.X_OK
	}
	if err := unix.Access(path, mode); err != nil {
		return &fs.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }

func ownerOf(st fs.FileInfo) string {
	if st == nil {
		return ""
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return userName(int(sys.Uid))
}

func current() string { return userName(os.Geteuid()) }

func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id // chown takes numbers too
}
