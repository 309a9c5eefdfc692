//go:build unix

package process

import (
	"os"
	"strconv"
	"syscall"
)

// hideListed marks the open files that a folder of the system lists.
func hideListed(dir string, first int) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	names, _ := f.Readdirnames(-1)
	f.Close()
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd >= first {
			syscall.CloseOnExec(fd)
		}
	}
}
