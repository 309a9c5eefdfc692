-- From older.sql to the shape of version 1.
ALTER TABLE record ADD COLUMN delay INTEGER NOT NULL DEFAULT 0;
ALTER TABLE record ADD COLUMN later_since INTEGER;
ALTER TABLE record ADD COLUMN ask_first INTEGER NOT NULL DEFAULT 0;
ALTER TABLE record ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN late TEXT;
ALTER TABLE attempt ADD COLUMN late_detail TEXT;
ALTER TABLE attempt ADD COLUMN late_at INTEGER;
CREATE INDEX record_waiting ON record(batch_id, not_before, id) WHERE not_before IS NOT NULL;
-- What an attempt printed, apart, so that stories stay small.
CREATE TABLE output(
  record_id INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY(record_id, fence));

