// Package process starts one process in a group of its own, reads what it
// prints until it has ended, and ends the whole group when it must.
//
// It is as near to a bare fork and exec as can be: no goroutine waits beside
// the caller's, and what a grandchild holds open holds up nobody. It imports
// the standard library and golang.org/x/sys.
package process
