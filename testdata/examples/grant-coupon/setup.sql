CREATE TABLE coupon_grant (
  user_id TEXT NOT NULL, coupon_id TEXT NOT NULL, activity TEXT NOT NULL, granted_on TEXT NOT NULL,
  UNIQUE (user_id, coupon_id, activity)
);
-- support granted two by hand, before the job ran
INSERT INTO coupon_grant VALUES ('u003', 'c11', 'double-eleven', '2026-11-10'), ('u017', 'c11', 'double-eleven', '2026-11-10');
