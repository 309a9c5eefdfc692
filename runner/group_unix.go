//go:build unix

package runner

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// ownerOf names the owner of a file.
func ownerOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	uid := strconv.FormatUint(uint64(st.Uid), 10)
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "user " + uid
}

// groupOf is the process group of a process; 0 if it has ended.
func groupOf(pid int) int {
	g, err := syscall.Getpgid(pid)
	if err != nil {
		return 0
	}
	return g
}
