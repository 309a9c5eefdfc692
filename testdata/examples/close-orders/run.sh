#!/bin/sh
# Close unpaid orders; be killed in the middle; two are paid meanwhile; run again.
. "$(dirname "$0")/../lib.sh"
helper exec shop.db setup.sql
orders() { helper query shop.db 'SELECT status, count(*) FROM orders GROUP BY status ORDER BY status'; }

say 'a run is killed in the middle'
killed wait shop.db "SELECT count(*) FROM orders WHERE status = 'CLOSED'" 10 -- close-orders --date 2026-11-11
say 'two customers pay before it runs again'
helper exec shop.db pay.sql
# What is to be closed now is not what it was: records of the first run are
# not in the query any more. Of those in doubt any run asks the guard; the two
# that were paid meanwhile are left to do, unless they are taken in.
run_task close-orders --date 2026-11-11 --include-absent
orders
say 'the ledger tells why the two were left alone'
runner ledger ls --task close-orders --limit 50 -o jsonl | grep '"detail":"noop"' | sed 's/.*"biz_id":"\([^"]*\)".*"result":"\([^"]*\)".*/noop: \1 is \2/' | sort
say 'and again, without a ledger'
rm -r .runner
run_task close-orders --date 2026-11-11
orders
