// Package tasks knows what can be done for records and where records come
// from: it reads runner.yaml, builds tasks from it, from a command line and
// from what an earlier run stored, and opens sources.
//
// It imports runner and ledger for the words they share, and its own internal
// packages: decode (YAML with places), process (one process and its group)
// and output (what a process prints).
//
// A kind of action is one file kind_*.go and one line in kinds.go; a Go
// function is one file and one line in functions.go; a key of runner.yaml is
// one field in file.go.
package tasks
