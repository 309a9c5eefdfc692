// Package watchdog sees to it that nothing of a run acts any more when others
// may take over what it held.
//
// A run whose ledger lies on a server lives by a lease. Its runner may be
// killed, stopped, put to sleep or cut off at any moment, and then can't be
// relied on to end its own actions. So it starts a second process, the
// watchdog, and feeds it over a pipe: the deadline, which moves with each
// renewal of the lease, and each attempt with its process group. At the
// deadline, or when the pipe ends because the runner is gone, the watchdog
// ends the groups. Attempts that have no group act in the runner itself: at
// the deadline it is ended with them, and what it knew is in its journal.
//
// It knows nothing of ledgers and tasks, and imports the standard library,
// golang.org/x/sys and the process table of gopsutil.
package watchdog
