// Package archive moves the records of complete batches out of a ledger into
// compressed files, and back.
//
// The form of the files is an interface, described in docs/archive.md. The
// package imports ledger and what is needed to compress and to lock; it knows
// no store.
package archive
