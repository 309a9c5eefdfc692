//go:build !linux

package cmd

// actAsInit has nothing to do: only on Linux is a container's first process
// one that nobody else reaps for.
func actAsInit() (code int, ok bool) { return 0, false }
