// Package ledger holds the rules of the ledger: what a record is, which
// statuses it goes through, and who may move it from one to the next.
//
// Every rule is a pure function of (entry, what happened, policy, now) in
// rules.go and operator.go, so that a preview can't disagree with a run. A
// Store keeps what the rules decide and knows none of them. The package
// imports only the standard library; stores import it, never the reverse.
package ledger
