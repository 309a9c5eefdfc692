//go:build linux || darwin

package cmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// folderWritable asks the system, without making a file.
func folderWritable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &os.PathError{Op: "write to", Path: dir, Err: err}
	}
	return nil
}

// freeBytes is the room on the disk of a folder that is left to us.
func freeBytes(dir string) (free int64, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Blocks == 0 {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
