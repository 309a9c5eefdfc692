// Package sqlaction does in a business database what a task does for a
// record: statements in one transaction, of which a guard row in the same
// database tells whether it has been committed. So the effect is exactly once,
// whatever becomes of runner, of its ledger or of the connection.
//
// It speaks to SQLite, PostgreSQL, MySQL and MariaDB. What differs between
// them lies in a file each; the rest of the package knows a session and the
// classes of its errors only.
//
// It imports the drivers, and of this project the engine's words for attempts
// and outcomes. It knows nothing of runner.yaml, and masks no secrets.
package sqlaction
