# What a record does is in its name. Only where $BREAK is set a runner is killed,
# asked to wait or to halt.
echo "$RUNNER_TASK_NAME $1" >>did
echo "output of $1"
echo "result=for $1" >"$RUNNER_RESULT"
case $1 in
noop) exit 9 ;;
fails | skipped) echo "no such user: $1" >&2 && exit 1 ;;
permanent) exit 4 ;;
doubt | marked | asked) kill -9 $$ ;;
half) [ -e undone ] || kill -9 $$ ;;
l1) [ -z "$BREAK" ] || { echo retry_after=2h >"$RUNNER_RESULT" && exit 75; } ;;
h1 | h2) [ -z "$BREAK" ] || exit 1 ;;
c2 | a1) [ -z "$BREAK" ] || kill -9 $PPID ;;
esac
