#!/bin/sh
# Deduct from balances; be killed in the middle; run again; lose the ledger.
. "$(dirname "$0")/../lib.sh"
helper exec bank.db setup.sql
balances() {
	helper query bank.db 'SELECT id, balance FROM account ORDER BY id'
	helper query bank.db 'SELECT count(*), count(DISTINCT deduction_no) FROM entry' | sed 's/	/ entries for /; s/$/ deductions/'
}

say 'a run is killed in the middle'
killed wait bank.db 'SELECT count(*) FROM entry' 10 -- deduct-balance --date 2026-11-01
say 'the same command again does the rest; a3 has too little, and fails after three attempts'
run_task deduct-balance --date 2026-11-01
balances
say 'even without the ledger nothing is deducted twice: the guard rows lie in the bank'
rm -r .runner
run_task deduct-balance --date 2026-11-01
balances
