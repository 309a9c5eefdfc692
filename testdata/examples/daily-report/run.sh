#!/bin/sh
# Export a week; be killed in the middle of a file; export it again.
. "$(dirname "$0")/../lib.sh"
files() { (cd out && find . -name '*report*' | sort | while read -r f; do echo "$f $(grep -c . "$f") lines"; done); }

say 'a run is killed in the middle of a file'
runner run daily-report --date 2026-11-22 >/dev/null 2>&1 &
pid=$!
wait_until sh -c "grep -qs ,05, out/.report-2026-11-22.*"
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
say 'the script that it had started lives on: runner finds it, and ends it when told to'
runner recover --kill 2>/dev/null | cut -d';' -f1
find out -name '*.csv' | grep . || echo 'no report is there'
say 'the week again: the check finds no report, so it is made; what was left is gone'
export FAST=1
run_task daily-report --date 2026-11-22..2026-11-28
files
say 'once more: nothing is made again'
before=$(ls -l --time-style=full-iso out 2>/dev/null || ls -lT out)
run_task daily-report --date 2026-11-22..2026-11-28
[ "$before" = "$(ls -l --time-style=full-iso out 2>/dev/null || ls -lT out)" ] && echo 'no file was touched'
