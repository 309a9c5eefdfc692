# Read by run.sh of each example: it builds the program, and works in a copy of
# the example's folder, which is removed in the end.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
bin=${EXAMPLE_BIN:-$work/bin} # the tests have built it already
if [ -z "${EXAMPLE_BIN:-}" ]; then
	mkdir "$bin"
	(cd "$here/../../.." && go build -o "$bin/runner" . && go build -o "$bin/helper" ./testdata/examples/helper)
fi
PATH=$bin:$PATH
export PATH NO_COLOR=1
unset RUNNER_LEDGER RUNNER_CONFIG
mkdir "$work/example"
cp -R "$here/." "$work/example"
cd "$work/example"

say() { printf '\n# %s\n' "$*"; }

# run_task ARGS…: a run whose exit code is of interest
run_task() {
	code=0
	runner run "$@" -o json >summary.json || code=$?
	printf 'exit %s: ' "$code"
	grep -o '"result":"[a-z_]*"' summary.json | cut -d'"' -f4 | sort -u | xargs
}

# killed WAIT… -- ARGS…: a run that is killed once the helper has waited
killed() {
	set -- "$@"
	waits=
	while [ "$1" != -- ]; do
		waits="$waits '$(printf %s "$1" | sed "s/'/'\\\\''/g")'"
		shift
	done
	shift
	runner run "$@" >/dev/null 2>&1 &
	pid=$!
	eval "helper $waits"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null || true
	echo 'killed'
}

# wait_until COMMAND…: for ten seconds at most
wait_until() {
	i=0
	until "$@"; do
		i=$((i + 1))
		[ "$i" -lt 500 ] || { echo "this never came true: $*" >&2; exit 1; }
		sleep 0.02
	done
}

# serve: the third party; its address is in $URL
serve() {
	helper serve url &
	server=$!
	wait_until test -f url
	URL=$(cat url)
	export URL
}
