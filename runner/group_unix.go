//go:build unix

package runner

import "syscall"

// groupOf is the process group of a process; 0 if it has ended.
func groupOf(pid int) int {
	g, err := syscall.Getpgid(pid)
	if err != nil {
		return 0
	}
	return g
}
