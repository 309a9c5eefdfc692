#!/usr/bin/env bash
# The main job on a thousand coupon grants: a first run with some failures, a
# run that skips, a rerun, a listing, a kill -9 in the middle and the run after
# it. Everything happens in a temporary folder.
set -euo pipefail
runner=$(cd "$(dirname "$0")/.." && pwd)/bin/runner
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset RUNNER_CONFIG RUNNER_LEDGER

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@" 2>&1 || printf '(exit code %s)\n' "$?"; }
runner() { "$runner" "$@"; }
effects() { printf '%s coupons granted, %s of them twice\n' "$(wc -l <granted)" "$(cut -d' ' -f1 granted | sort | uniq -d | wc -l)"; }

# What a coupon service does: it appends a line for each grant. While the file
# "down" is there, users whose number ends in 77 are refused.
cat >grant.sh <<'SH'
#!/bin/sh
case $1 in *77) [ -e down ] && { echo "user $1: service unavailable" >&2; exit 1; } ;; esac
[ -e slow ] && sleep 0.05
echo "$1 $RUNNER_IDEMPOTENCY_KEY" >>granted
SH
chmod +x grant.sh
{ echo user_id,coupon; for i in $(seq -f %04g 1 1000); do echo "u$i,double-eleven"; done; } >users.csv
cat >runner.yaml <<'YAML'
timezone: Asia/Shanghai
tasks:
  grant-coupon:
    description: Grant the double-eleven coupon
    records:
      csv: users.csv
      biz_id: user_id
    run: [./grant.sh, "{{.biz_id}}"]
    jobs: 8
    retry: {attempts: 2, backoff: 10ms}
YAML
date=2026-11-11
touch granted down

say "1. The first run: the service refuses ten users"
show runner run grant-coupon --date $date -o table
effects

say "2. The same line again: what is done is skipped"
show runner run grant-coupon --date $date -o table
effects

say "3. The service is back: rerun what failed"
rm down
show runner rerun grant-coupon --date $date -o table
effects

say "4. What the ledger knows"
show runner ledger ls --task grant-coupon --date $date --limit 5
show runner ledger show grant-coupon u0077 --date $date

say "5. Another date, and a kill -9 in the middle"
date=2026-11-12
: >granted
touch slow
"$runner" run grant-coupon --date $date &
while [ "$(wc -l <granted)" -lt 200 ]; do :; done
kill -9 $!
wait $! 2>/dev/null || true
while pgrep -f "$work/grant.sh" >/dev/null; do :; done
rm slow
effects

say "6. The run after it: what was cut off in an attempt is in doubt, and not repeated"
show runner run grant-coupon --date $date -o table
effects

say "7. A person decides that repeating those is safe here: each goes out with the key it had"
show runner rerun grant-coupon --date $date --status in_doubt --yes -o table
printf '%s grants carried %s different idempotency keys\n' "$(wc -l <granted)" "$(cut -d' ' -f2 granted | sort -u | wc -l)"
echo "A service that honours the key has granted 1000 coupons."
