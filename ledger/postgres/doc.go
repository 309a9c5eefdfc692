// Package postgres keeps a ledger in a PostgreSQL database (13 or newer), for
// any number of processes on any number of hosts.
//
// It knows how to open that database, its schema, how many transactions get
// along at once, and how a commit is told from a failure when the connection
// breaks in the middle. It knows no rule of the ledger. It imports package
// ledger, what stores share below ledger/internal, pgx, and the timing of
// retries.
//
// What differs from SQLite, and why:
//
//   - Transactions run side by side, at READ COMMITTED. What a Tx has read may
//     change before it writes: records by others are refused by status and
//     fence as everywhere, and a batch carries a revision for the same
//     (PutBatch). A transaction that lost such a race, or a deadlock, is run
//     again from the start.
//   - Locks are taken in one order: planners of a batch by an advisory lock,
//     then records by their numbers, then batches by theirs. Changes of
//     records and the counters of their batch are sent with the commit, in one
//     round trip, so that the batch is locked for no longer than a commit
//     takes; a change that is stale is an error, after which nothing commits. Claims skip what others
//     hold (Tx.Lock).
//   - Nothing outlives a transaction on a connection – no SET, no temporary
//     table, no session lock – so that a pooler such as pgbouncer may hand each
//     transaction another server. Statements go unnamed
//     (pgx.QueryExecModeCacheDescribe: types are asked once and remembered in
//     this process); settings are local to the transaction and travel in the
//     statement that opens it. Only where the server process is the one that
//     the connection was made to, so that there is no pooler, what is repeated
//     is prepared.
//   - Planner settings are among them: nested loops and indexes only, because
//     a table that grew a minute ago has no statistics, and a plan that reads
//     all of it for each chunk is found again and again.
//   - Text can't hold every byte there; see encode.
package postgres
