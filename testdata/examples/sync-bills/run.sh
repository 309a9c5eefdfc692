#!/bin/sh
# Sync the bills of three days; be killed in the middle; run the range again.
. "$(dirname "$0")/../lib.sh"
helper exec books.db setup.sql
serve
totals() { helper query books.db 'SELECT t.billed_on, count(*), t.amount, sum(b.amount) FROM total t JOIN bill b USING (billed_on) GROUP BY 1 ORDER BY 1'; }

say 'the first of three days is cut off in the middle'
killed wait books.db 'SELECT count(*) FROM bill' 10 -- sync-bills --date 2026-11-26..2026-11-28
say 'the same command again: day, bills, the total that was counted up, the sum of the bills'
run_task sync-bills --date 2026-11-26..2026-11-28
totals
say 'once more, and once more without the ledger'
run_task sync-bills --date 2026-11-26..2026-11-28
rm -r .runner
run_task sync-bills --date 2026-11-26..2026-11-28
totals
