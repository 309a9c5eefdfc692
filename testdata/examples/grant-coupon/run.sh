#!/bin/sh
# Grant each user a coupon; be killed in the middle; run again; lose the ledger.
. "$(dirname "$0")/../lib.sh"
helper exec shop.db setup.sql
grants() { helper query shop.db 'SELECT count(*), count(DISTINCT user_id) FROM coupon_grant' | sed 's/	/ grants to /; s/$/ users/'; }

say 'a run is killed in the middle'
killed wait shop.db 'SELECT count(*) FROM coupon_grant' 10 -- grant-coupon --date 2026-11-11
say 'the same command again does the rest'
run_task grant-coupon --date 2026-11-11
grants
say 'two were there before; the ledger knows which'
runner ledger ls --task grant-coupon --limit 50 -o jsonl | grep '"detail":"already"' | sed 's/.*"biz_id":"\([^"]*\)".*/already: \1/' | sort | grep -E 'u003|u017'
say 'even without the ledger nobody gets a second coupon'
rm -r .runner
run_task grant-coupon --date 2026-11-11
grants
