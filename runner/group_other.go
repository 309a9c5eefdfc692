//go:build !unix

package runner

func ownerOf(string) string { return "" }

// groupOf: without process groups, each process is its own.
func groupOf(pid int) int { return pid }
