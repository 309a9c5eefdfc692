#!/bin/sh
# Send notifications to a sender whose answers get lost; be killed; run again.
. "$(dirname "$0")/../lib.sh"
serve
messages() { helper sent "$URL" | awk '{n++; s += $2; if ($2 > m) m = $2} END {print n " users, " s " messages, at most " m " to one"}'; }

say 'a run is killed in the middle'
killed wait-sent "$URL" 10 -- send-notifications --date 2026-11-11
say 'the same command again: where an answer was lost, the sender is asked'
run_task send-notifications --date 2026-11-11
messages
say 'sent, although no answer came:'
runner ledger ls --task send-notifications --limit 50 -o jsonl | grep '"detail":"already"' | sed 's/.*"biz_id":"\([^"]*\)".*/\1/' | grep '5$' | sort
say 'and once more'
run_task send-notifications --date 2026-11-11
messages
