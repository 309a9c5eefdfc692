CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 1);
-- no unique key on it: nothing but the guard keeps a deduction from being made twice
CREATE TABLE entry (deduction_no TEXT NOT NULL, account TEXT NOT NULL, amount INTEGER NOT NULL);
INSERT INTO account (id, balance) VALUES ('a1', 1000), ('a2', 1000), ('a3', 3);
