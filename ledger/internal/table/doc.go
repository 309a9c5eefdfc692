// Package table is what the tables of a ledger have in common in every SQL
// database: the text of statements that mean the same everywhere, the columns
// in the order they are read, and how Go values lie in them.
//
// Placeholders are $1, $2 …, which SQLite and PostgreSQL both take. Where a
// statement has to differ, or is faster another way, it belongs to the store.
// The package imports ledger and no driver.
package table
