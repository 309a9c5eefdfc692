// Package sqlite keeps a ledger in one SQLite file, for any number of
// processes of one host.
//
// It knows how to open that file (or why not to), its schema, and how to
// write many records in one durable transaction. It knows no rule of the
// ledger. It imports package ledger, the SQLite driver, and what it needs to
// tell a local file system from a network one.
//
// Beside the ledger lie SQLite's own -wal and -shm, a .lock that writers
// queue on (see sideLock), and the folder .runs, which belongs to package
// runner.
package sqlite
