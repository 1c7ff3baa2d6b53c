#!/usr/bin/env bash
# Runs test programs that print TAP (cmocka's, or the scripts of tests/e2e) and sums them up.
#
#   tests/run.sh [-l LOGDIR] [-j JOBS] PROGRAM...
#
# A program that ends badly without having said so counts as one failure; one that runs longer than its limit (a line
# "# timeout: SECONDS" in the script, else 180) is killed and counts as one too. The last line is
# "N passed, N failed, N skipped"; exit 1 if anything failed.
set -u
logs=build/test-logs
jobs=1
while getopts l:j: o; do
	case $o in
	l) logs=$OPTARG ;;
	j) jobs=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
mkdir -p "$logs"
export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C

limit_of() {
	local t
	t=$(grep -m1 -aoE '^# timeout: [0-9]+' "$1" 2>/dev/null | grep -oE '[0-9]+')
	echo "${t:-180}"
}

run_one() {
	local prog=$1 name log rc limit p f s
	name=$(basename "$prog")
	log=$logs/$name.log
	limit=$(limit_of "$prog")
	timeout -k 10 "$limit" "$prog" >"$log" 2>&1 </dev/null
	rc=$?
	# cmocka prints a skipped test as "not ok ... # SKIP".
	s=$(grep -acE '^(not )?ok .*# ?SKIP' "$log")
	p=$(grep -aE '^ok ' "$log" | grep -vcE '# ?SKIP')
	f=$(grep -aE '^not ok ' "$log" | grep -vcE '# ?SKIP')
	if [ $rc -eq 124 ] || [ $rc -eq 137 ]; then
		echo "not ok - $name: killed after $limit s" >>"$log"
		f=$((f + 1))
	elif [ $rc -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "not ok - $name: exit status $rc" >>"$log"
		f=$((f + 1))
	elif [ $((p + f + s)) -eq 0 ]; then
		echo "not ok - $name: ran no test" >>"$log"
		f=1
	fi
	printf '%s %s %s\n' "$p" "$f" "$s" >"$log.sum"
	printf '%-34s %4d passed %3d failed %3d skipped\n' "$name" "$p" "$f" "$s"
	grep -aE '^not ok |# ?SKIP' "$log" | sed 's/^/    /'
}

rm -f "$logs"/*.sum
for prog in "$@"; do
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
		wait -n
	done
	if [ "$jobs" -gt 1 ]; then
		run_one "$prog" &
	else
		run_one "$prog"
	fi
done
wait
cat "$logs"/*.sum 2>/dev/null | awk '{p += $1; f += $2; s += $3}
	END {printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0}'
