[ "$1" != asked ] || exit 0
[ -e undone ] || exit 2
exit 1
