#!/usr/bin/env bash
# Instructions of the hot paths, counted by valgrind, against those recorded in instructions.txt: times tell nothing on a
# machine that does other things too, instruction counts do. Prints TAP. Usage: tests/bench/callgrind.sh [-r] BUILD-DIR
#
#	-r    records the counts for this compiler instead of comparing
#
# More than 3 % above what is recorded for this compiler's version and flags is a failure; less is good, and said.
set -u
record=
[ "${1:-}" != -r ] || { record=1 && shift; }
cd "$(dirname "$0")/../.." || exit 2
B=$(cd "${1:-build}" && pwd) || exit 2
file=tests/bench/instructions.txt
tests=0 bad=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/libprobe-callgrind.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset LD_PRELOAD "${!PROBE_@}"

skip() {
	echo "ok 1 - instructions of the hot paths # SKIP $1"
	echo 1..1
	exit 0
}
command -v valgrind >/dev/null || skip 'valgrind is not installed'
[ "$(uname -m)" = x86_64 ] || skip 'counts are recorded for x86-64'

# Compiler and version, from the library's .comment section.
who=$(readelf -p .comment "$B/libprobe.so" | grep -oE '(GCC|clang).*' | sort | tail -1 |
	sed -E 's/^GCC: .*\) ([0-9.]+).*/gcc-\1/; s/^clang version ([0-9.]+).*/clang-\1/')
[ -n "$record" ] || grep -q "^$who " $file || skip "nothing is recorded for $who; tests/bench/callgrind.sh -r does"

# Kernels of the statistics, where a key chooses them.
isas=auto
! "$B/probe" config 2>/dev/null | grep -q '^stats_isa' || isas='scalar avx2'

# ARGS: of call_cost, with vars[] in the environment
count() {
	rm -rf "$tmp/out"
	env "${vars[@]}" PROBE_OUTPUT_DIR="$tmp/out" PROBE_JOURNAL_MIB=64 LD_PRELOAD="$B/libprobe.so" \
		valgrind --tool=callgrind --toggle-collect=count_this --callgrind-out-file=/dev/null \
		"$B/bench/call_cost" "$@" >"$tmp/log" 2>&1
}

# CASE UNITS [NAME=VALUE ...] -- ARGS: instructions a unit. Rows: those that UNITS more rows take, without what a flush
# costs by itself.
one() {
	local name=$1 units=$2 vars=() n was fewer=
	shift 2
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	if [ "$1" = rows ]; then
		count "$@" -n 100
		fewer=$(awk '/Collected/ {gsub(",", ""); n += $NF} END {print n}' "$tmp/log")
		grep -q '^rows [1-9]' "$tmp/log" && count "$@" -n $((100 + units / 2))
		if ! grep -q '^rows [1-9]' "$tmp/log"; then
			tests=$((tests + 1))
			echo "ok $tests - $name # SKIP the writer's thread took some of the rows: the machine is too busy"
			[ -z "$record" ] || grep "^$who $name " $file >>"$tmp/new"
			return
		fi
	else
		count "$@"
	fi
	n=$(awk -v u="$units" -v f="${fewer:-0}" '/Collected/ {gsub(",", ""); n += $NF} END {printf "%.1f", (n - f) / u}' "$tmp/log")
	[ $tests != 0 ] || ! grep -q 'Giving up' "$tmp/log" || skip "valgrind cannot read the debug information of $who"
	tests=$((tests + 1))
	if [ -z "$n" ] || [ "$n" = 0.0 ]; then
		echo "not ok $tests - $name: counted"
		tail -5 "$tmp/log" | sed 's/^/#   /'
		bad=1
		return
	fi
	echo "$who $name $n" >>"$tmp/new"
	was=$(awk -v who="$who" -v name="$name" '$1 == who && $2 == name {print $3}' $file 2>/dev/null)
	if [ -n "$record" ]; then
		echo "ok $tests - $name: $n (was ${was:-not recorded})"
	elif [ -z "$was" ]; then
		echo "ok $tests - $name: $n # SKIP not recorded for $who"
	elif awk -v n="$n" -v was="$was" 'BEGIN {exit n <= was * 1.03 + 0.5 ? 0 : 1}'; then
		echo "ok $tests - $name: $n of $was"
		awk -v n="$n" -v was="$was" 'BEGIN {exit n < was * 0.97 - 0.5 ? 0 : 1}' &&
			echo "#   fewer than recorded: record them again with tests/bench/callgrind.sh -r"
	else
		echo "not ok $tests - $name: $n instructions, $was are recorded"
		echo "#   if that is meant: tests/bench/callgrind.sh -r"
		bad=1
	fi
}

none=(PROBE_STACK=false PROBE_STATISTICS=false)
printf 'mpi:\n  - MPI_Bcast\n' >"$tmp/skip.yaml"
one skipped 2000 PROBE_WRAP_OPS="$tmp/skip.yaml" -- count -n 2000
one disabled 2000 PROBE_DISABLE=1 -- count -n 2000
one off-child 2000 "${none[@]}" -- count -n 2000 -f
one recorded 2000 "${none[@]}" -- count -n 2000
one recorded-stack 2000 PROBE_STATISTICS=false PROBE_STACK_DEPTH=64 -- count -n 2000 -d 27
one recorded-all 2000 A=1 -- count -n 2000
one test-0 2000 "${none[@]}" -- count -n 2000 -t
one send-wait 2000 "${none[@]}" -- count -n 2000 -w
one row 800 "${none[@]}" -- rows
one row-statistics 800 PROBE_STACK=false -- rows -b 256
one row-varied 800 PROBE_STACK=false -- rows -v -b 256
one row-compact 800 PROBE_STACK=false PROBE_FORMAT=compact -- rows -b 256
one row-compact-varied 800 PROBE_STACK=false PROBE_FORMAT=compact -- rows -v -b 256
for isa in $isas; do
	for d in float32 float64 bfloat16 float16 int32 uint8; do
		one statistics-$isa-$d 1 PROBE_STATS_ISA=$isa PROBE_STACK=false -- count -n 1 -b 262144 -y $d
	done
done
if [ -n "$record" ] && [ $bad = 0 ]; then
	{
		grep '^#' $file 2>/dev/null || printf '%s\n' \
			'# Instructions a call, a row, and of the statistics of a call that has 256 KiB in and 256 KiB out, as' \
			'# tests/bench/callgrind.sh -r counts them: compiler, case, instructions.'
		{
			grep -v -e '^#' -e "^$who " $file 2>/dev/null
			cat "$tmp/new"
		} | sort -s -k1,1
	} >"$tmp/file"
	cp "$tmp/file" $file
fi
echo 1..$tests
exit $bad
