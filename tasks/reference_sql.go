package tasks

const referenceSQL = `
## SQL

An action of ` + "`sql`" + ` is one transaction: first the guard, a row in the table ` + "`runner_effects`" + ` with namespace, task, biz_id, execute date and generation as its key; then ` + "`read`" + `; then the statements; then the commit. If the guard is there already, so is the effect: the record is done (` + "`already`" + `), whatever became of the ledger. A connection that is lost during the commit is settled by inserting the guard again. So a guarded action may always be repeated, and is its own check. Guards stay until ` + "`runner ledger archive --guards`" + ` removes those of an archived date, which leaves one row. The table is made when it is first needed, under a lock; who may not make tables gets it from somebody who may, once:

| database | statement |
| --- | --- |
| PostgreSQL | ` + "`" + `CREATE TABLE runner_effects (namespace text COLLATE "C" NOT NULL, task_name text COLLATE "C" NOT NULL, biz_id text COLLATE "C" NOT NULL, execute_date text COLLATE "C" NOT NULL, generation bigint NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (namespace, task_name, biz_id, execute_date, generation))` + "`" + ` |
| MySQL, MariaDB | ` + "`" + `CREATE TABLE runner_effects (namespace VARBINARY(255) NOT NULL, task_name VARBINARY(128) NOT NULL, biz_id VARBINARY(512) NOT NULL, execute_date VARBINARY(10) NOT NULL, generation BIGINT NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (namespace, task_name, biz_id, execute_date, generation)) ENGINE=InnoDB` + "`" + ` |

Addresses: ` + "`sqlite:FILE`" + ` is relative to this file and ` + "`sqlite:///FILE`" + ` is absolute, the name taken as it stands; a file that isn't there is an error. ` + "`postgres://`" + ` takes what libpq takes after a ?, such as sslmode and default_transaction_isolation; ` + "`mysql://`" + ` takes socket and tls (true, skip-verify, preferred). In addresses ` + "`${NAME}`" + ` is replaced as it stands; special characters of a user or a password are written as %XX. An address with a password written out is not stored with a run; use a variable.

Values are always bound, never put into the text. A parameter is ` + "`:name`" + `, or ` + "`:\"any name\"`" + `; the five names of the key come first, then columns of ` + "`read`" + `, then fields of the record. One that the record doesn't have fails it for good; a JSON null is NULL. All are bound as text, which the database makes what the place needs: a column takes its own type. Where there is no column to tell, say it: ` + "`CAST(:amount AS integer) + 1`" + ` (PostgreSQL refuses what it can't tell before anything runs; in SQLite ` + "`:amount > 5`" + ` compares a text).

A row counts as found if it matches, also where an UPDATE changes nothing in it, on MySQL as on the others: a state machine and an optimistic lock ask for the row in the state they expect. A SELECT, and RETURNING, count the rows they give; other statements always count as having found something.

Serialization failures and deadlocks are tried again a few times at once, and then later, which is no attempt. A busy SQLite is waited for up to 10 s, then it is later too. An error or a timeout before the commit takes everything back: a failed attempt. A database that can't be reached at the start is an error (exit 2); one that goes away in the middle is tried again, until the run halts (exit 4).

Not allowed are several statements in one text, and what ends the transaction or reaches beyond it: BEGIN, COMMIT, ROLLBACK, SAVEPOINT, SET, LOCK TABLES, ATTACH, PRAGMA, VACUUM and the like; on MySQL also what commits by itself, such as CREATE and TRUNCATE, CALL, and tables of engines without transactions, such as MyISAM. What such a table does behind a view or in a trigger isn't seen.

With ` + "`guard: off`" + ` a row that is there already, by a unique key of its own, counts as done (` + "`already`" + `); an attempt whose commit was cut off is in doubt, unless the task is idempotent or has a check.

SQLite has one writer: there ` + "`" + `jobs` + "`" + ` makes no difference. A batch takes what is waiting at the moment; it doesn't wait to be full. The records of a batch are done in the order of their keys. If one fails, it alone is taken back; if the commit fails, each is done by itself.
`
