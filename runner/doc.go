// Package runner is the engine: source, plan, recover, claim, act, settle,
// report (one file a step). It turns a Task and its records into attempts
// that the ledger knows of before they start.
//
// It knows actions only through Action and ledgers only through
// ledger.Ledger; it imports package ledger and no package of this program
// besides. It prints nothing: what happens goes to an Observer.
package runner
