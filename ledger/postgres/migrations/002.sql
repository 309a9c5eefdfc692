-- Where the records of a sealed batch lie: an archive file, as it was named or
-- within the ledger's archive folder, and its SHA-256.
ALTER TABLE batch ADD COLUMN sealed_in TEXT;
ALTER TABLE batch ADD COLUMN sealed_sum TEXT;
