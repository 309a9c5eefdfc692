-- A schema that never was: what a ledger might have looked like before version 1,
-- with a few records in it. older_to_newer.sql takes it to version 1's shape.
--
-- Times are integer microseconds since 1970 UTC, NULL for never. Numbers of
-- records, batches and runs are never given twice (AUTOINCREMENT): the scope
-- of a run and the story of a record are kept by them.

CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE batch(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task_name TEXT NOT NULL,
  execute_date TEXT NOT NULL,
  first_id INTEGER, -- lowest and highest record.id
  last_id INTEGER,
  n_pending INTEGER NOT NULL DEFAULT 0, -- kept by each transaction
  n_running INTEGER NOT NULL DEFAULT 0,
  n_done INTEGER NOT NULL DEFAULT 0,
  n_failed INTEGER NOT NULL DEFAULT 0,
  n_in_doubt INTEGER NOT NULL DEFAULT 0,
  n_skipped INTEGER NOT NULL DEFAULT 0,
  open_plan_run TEXT,
  paused_until INTEGER,
  halted_at INTEGER,
  halt_reason TEXT,
  sealed_at INTEGER,
  created_at INTEGER,
  UNIQUE(task_name, execute_date));

-- A column costs a record one byte even when it is empty, so what fits in a
-- number is one: status, phase, and the run as run.no.
CREATE TABLE record(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  batch_id INTEGER NOT NULL,
  biz_id TEXT NOT NULL,
  status INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0,
  generation INTEGER NOT NULL DEFAULT 1,
  phase INTEGER NOT NULL DEFAULT 0,
  act_fence INTEGER NOT NULL DEFAULT 0,
  comp_fence INTEGER NOT NULL DEFAULT 0,
  run_no INTEGER,
  started_at INTEGER,
  ended_at INTEGER,
  not_before INTEGER,
  exit_code INTEGER,
  detail TEXT,
  result TEXT,
  error TEXT,
  payload TEXT,
  UNIQUE(batch_id, biz_id));

-- Lists of what isn't simply pending or done, in any batch. Queries repeat
-- the predicate word for word, or the planner doesn't see that it fits. (IN would
-- build a table for each record that is written.)
CREATE INDEX record_open ON record(batch_id, status, id) WHERE status <> 0 AND status <> 2;

CREATE TABLE run(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  batch_id INTEGER, -- NULL: only named by a record so far
  task_name TEXT,
  execute_date TEXT,
  time_zone TEXT,
  command TEXT,
  host TEXT,
  boot_id TEXT,
  pid INTEGER,
  process_started_at INTEGER,
  file TEXT,
  definition TEXT,
  digest TEXT,
  version TEXT,
  started_at INTEGER,
  ended_at INTEGER,
  result TEXT,
  exit_code INTEGER,
  n_planned INTEGER,
  n_new INTEGER,
  n_executed INTEGER,
  n_pending INTEGER,
  n_running INTEGER,
  n_done INTEGER,
  n_failed INTEGER,
  n_in_doubt INTEGER,
  n_skipped INTEGER);

CREATE INDEX run_open ON run(no) WHERE ended_at IS NULL;

CREATE TABLE attempt(
  record_id INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  phase INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  number INTEGER NOT NULL,
  run_no INTEGER,
  actor TEXT,
  started_at INTEGER,
  ended_at INTEGER,
  status INTEGER NOT NULL,
  detail TEXT,
  result TEXT,
  exit_code INTEGER,
  error TEXT,
  PRIMARY KEY(record_id, fence)) WITHOUT ROWID;

-- For people with any SQLite tool. Its columns only grow.
CREATE VIEW ledger AS
SELECT b.task_name, r.biz_id, b.execute_date,
  CASE r.status WHEN 0 THEN 'pending' WHEN 1 THEN 'running' WHEN 2 THEN 'done'
    WHEN 3 THEN 'failed' WHEN 4 THEN 'in_doubt' WHEN 5 THEN 'skipped' END AS status,
  CASE WHEN r.status = 1 THEN
    CASE r.phase WHEN 0 THEN 'act' WHEN 1 THEN 'check' WHEN 2 THEN 'compensate' END END AS phase,
  r.detail, r.result, r.attempts, r.generation, r.fence, u.id AS run_id,
  strftime('%Y-%m-%dT%H:%M:%S', r.started_at/1000000, 'unixepoch') || printf('.%03dZ', r.started_at/1000%1000) AS started_at,
  strftime('%Y-%m-%dT%H:%M:%S', r.ended_at/1000000, 'unixepoch') || printf('.%03dZ', r.ended_at/1000%1000) AS ended_at,
  strftime('%Y-%m-%dT%H:%M:%S', r.not_before/1000000, 'unixepoch') || printf('.%03dZ', r.not_before/1000%1000) AS not_before,
  r.exit_code, r.error, r.payload
FROM record r JOIN batch b ON b.id = r.batch_id LEFT JOIN run u ON u.no = r.run_no;

INSERT INTO batch(id, task_name, execute_date, first_id, last_id, n_pending, n_done, n_failed, n_in_doubt)
VALUES (1, '发券', '2026-11-11', 1, 4, 1, 1, 1, 1);
INSERT INTO run(no, id, batch_id, task_name, execute_date, started_at, ended_at, definition) VALUES
  (1, 'run-1', 1, '发券', '2026-11-11', 1794355200000000, 1794355260000000, '{}');
INSERT INTO record(id, batch_id, biz_id, status, attempts, fence, act_fence, run_no, detail, error, payload) VALUES
  (1, 1, '用户1', 2, 1, 1, 1, 1, 'applied', NULL, '{"v":"0010"}'),
  (2, 1, '用户2', 3, 3, 3, 0, 1, NULL, 'exit status 1', NULL),
  (3, 1, '用户3', 4, 1, 1, 1, 1, 'unknown', 'timeout', NULL),
  (4, 1, '用户4', 0, 0, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO attempt(record_id, fence, phase, generation, number, run_no, status, error) VALUES
  (2, 3, 0, 1, 3, 1, 3, 'exit status 1'), (3, 1, 0, 1, 1, 1, 4, 'timeout');
