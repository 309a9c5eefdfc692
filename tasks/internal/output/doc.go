// Package output takes what an action prints: it masks secrets while the
// bytes come in, keeps a head and a tail of them in constant memory, and gives
// back valid UTF-8. It imports only the standard library.
package output
