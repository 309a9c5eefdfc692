#!/bin/sh
# Writes out/report-DATE.csv: all of it, or nothing under that name.
set -eu
mkdir -p out
tmp=out/.report-$1.$RUNNER_FENCE
echo 'day,hour,orders' >"$tmp"
for hour in 00 01 02 03 04 05 06 07 08 09 10 11; do
	echo "$1,$hour,42" >>"$tmp"
	[ -n "${FAST:-}" ] || sleep 0.1 # so that there is time to kill it
done
mv "$tmp" "out/report-$1.csv"
rm -f "out/.report-$1."* # what attempts that were cut off have left
