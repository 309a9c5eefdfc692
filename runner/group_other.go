//go:build !unix

package runner

// groupOf: without process groups, each process is its own.
func groupOf(pid int) int { return pid }
