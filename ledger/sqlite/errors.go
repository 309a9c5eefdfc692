package sqlite

import (
	"context"
	"errors"
	"path/filepath"

	"runner/ledger"

	sqlite3 "modernc.org/sqlite"
)

// Primary result codes of SQLite that say something of the file rather than
// of the statement.
const (
	codePerm     = 3
	codeBusy     = 5
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeProtocol = 15
	codeNotADB   = 26
)

// restoreBackup is the one way to bring a backup back: a copy of the file would
// do again what was done since.
const restoreBackup = "runner ledger restore-backup FILE"

// notSQLite says that a file is no database. It may have been a ledger, and
// another one in its place would be empty: all would be done again.
func notSQLite(path string, err error) error {
	return &ledger.UnusableError{Path: path, Why: "it is not an SQLite database", Err: err,
		Hint: "if it was the ledger it is damaged, and a backup is brought back with: " + restoreBackup + "; if it never was, correct the path (--ledger)"}
}

// codeOf is the primary code, 0 if err isn't SQLite's.
func codeOf(err error) int {
	var e *sqlite3.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// explain turns an error that makes the ledger unusable into plain words.
// Others, an interrupted wait among them, stay what they are.
func explain(path string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if u := (*ledger.UnusableError)(nil); errors.As(err, &u) {
		return err
	}
	e := &ledger.UnusableError{Path: path, Err: err}
	switch codeOf(err) {
	case codeFull:
		e.Why = "there is no room left to write"
		e.Hint = "free some space (or lift the quota) where " + filepath.Dir(path) + " lies, then run again"
	case codeIOErr:
		e.Why = "the disk or its file system reported an error"
		e.Hint = "look for it in the system's log, then check the file with: runner doctor"
	case codeReadOnly, codePerm:
		e.Why = "it can't be written"
		e.Hint = "check the owner and the mode of it, of " + path + "-wal and of their folder"
	case codeCorrupt:
		e.Why = "the file is damaged"
		e.Hint = "check it with: runner doctor; a backup is brought back with: " + restoreBackup
	case codeNotADB:
		return notSQLite(path, err)
	case codeBusy, codeProtocol:
		e.Why = "another process has been writing to it for more than 10 s"
		e.Hint = "find it with: fuser -v " + path + "; a stopped or hanging process may hold it"
	case codeCantOpen:
		e.Why = "it can't be opened"
		e.Hint = "check the owner and the mode of it, of " + path + "-wal and of their folder"
	default:
		return err
	}
	return e
}
