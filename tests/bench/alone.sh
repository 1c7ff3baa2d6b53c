# For parts of the bench that are also run by themselves, PART.sh [BUILD-DIR]: what bench.sh has defined when it sources them.
if ! declare -F row >/dev/null; then
	set -u
	cd "$(dirname "$0")/../.." || exit 2
	B=$(cd "${1:-build}" && pwd) || exit 2
	test_python=${PROBE_TEST_PYTHON:-} test_mindspore=${PROBE_TEST_MINDSPORE:-}
	unset LD_PRELOAD "${!PROBE_@}"
	lib=$B/libprobe.so dir=$(mktemp -d "${TMPDIR:-/tmp}/libprobe-cost.XXXXXX")
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 1' INT TERM
	title() {
		printf '\n%s\n' "$1"
	}
	calc() {
		awk "BEGIN {printf \"${2:-%.1f}\", $1}" 2>/dev/null
	}
	row() { # TEXT VALUE UNIT [TARGET]: as in bench.sh
		local limit=${4:-} verdict=''
		if [ -z "$2" ]; then
			printf '  %-62s %12s\n' "$1" 'not measured'
			return
		fi
		[ -z "$limit" ] || verdict=$(awk -v v="$2" -v t="${limit:2}" 'BEGIN {print (v <= t) ? "ok" : "short"}')
		printf '  %-62s %12s %-6s %-9s %s\n' "$1" "$2" "$3" "$limit" "$verdict"
	}
fi
