// Package httpaction does what a task does for a record by an HTTP request,
// and says what became of it: done, certainly not done, or in doubt.
//
// What is certain hangs on whether a byte of the request has gone out, so the
// package counts that itself, connection by connection, and lets an exchange
// write to one connection only: package net/http would send a request again by
// itself when a connection that was kept alive closes before the answer, if the
// request looks harmless to it or carries an Idempotency-Key. HTTP/2 is off,
// because there one connection carries many requests at once, and its client
// also repeats those that a server refuses.
//
// It may import the engine, the ledger's words and other packages below
// tasks/internal; templates and their data come from package tasks.
package httpaction
