#!/usr/bin/env bash
# format: [compact]. The CSV files of the same run are the truth: a reader that knows the format's page only finds the same rows, probe csv
# writes the same bytes, and each verb says the same of both; also of a process that was killed at random moments.
# timeout: 900
# long: a thousand kills
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'compact files' 'no MPI, or its programs are not built (make apps)'; finish; }
f=$(head -1 <<<"$flavours")
RANDOM=${SEED:-$$}

# The folder without its CSV files of calls, and the one without its compact files.
divide() {
	rm -rf "$tmp/csv" "$tmp/compact" "$tmp/made"
	cp -r "$out" "$tmp/csv"
	cp -r "$out" "$tmp/compact"
	rm "$tmp"/csv/*/calls_*.compact "$tmp"/compact/*/calls_*.csv
}

same_calls() { # FOLDER FOLDER
	local name
	[ -s "$1/rank0/calls_0-$(ls "$1/rank0" | sed -n 's/^calls_0-\([0-9]*\)\.csv$/\1/p').csv" ] || return 1
	for name in $(cd "$1" && ls -d */calls_*.csv); do
		cmp "$1/$name" "$2/$name" || return 1
	done
	[ "$(cd "$1" && ls -d */calls_*)" = "$(cd "$2" && ls -d */calls_*)" ]
}

by_the_page() {
	local name
	[ -s "$tmp/csv/rank0/calls_0-99.csv" ] || return 1
	for name in $(cd "$tmp/csv" && ls -d */calls_*.csv); do
		python3 tests/e2e/compact.py "$tmp/compact/${name%.csv}.compact" | cmp - "$tmp/csv/$name" || return 1
	done
}

same_words() { # VERB...: of both, but for the folder's name
	"$probe" "$@" "$tmp/csv" 2>&1 | sed "s|$tmp/csv||g; /\"read_s\"/d" >"$tmp/said.csv"
	"$probe" "$@" "$tmp/compact" 2>&1 | sed "s|$tmp/compact||g; /\"read_s\"/d" >"$tmp/said.compact"
	[ -s "$tmp/said.csv" ] && cmp "$tmp/said.csv" "$tmp/said.compact"
}

for app in mpi_collectives mpi_nonblocking mpi_dtypes mpi_p2p; do
	[ -x "$B/apps/$f/$app" ] || continue
	new_out
	run_with $f 2 PROBE_FORMAT=csv,compact PROBE_CHECKSUM=crc32 $app
	divide
	ok "$app: the rows by the format's page" by_the_page
	ok "$app: probe csv" "$probe" csv -o "$tmp/made" "$tmp/compact"
	ok "$app: the CSV files byte for byte" same_calls "$tmp/csv" "$tmp/made"
	ok "$app: the same report" same_words report
done
for verb in 'report --json' 'analyze' 'names --groups' 'export --format flight-recorder -o -'; do
	ok "the same words: $verb" same_words $verb
done
ok 'compare finds no difference' "$probe" compare "$tmp/csv" "$tmp/compact"
ok 'probe csv beside them' "$probe" csv "$tmp/compact"
ok 'the CSV files beside them are the same' eval 'cmp "$tmp"/csv/rank0/calls_0-99.csv "$tmp"/compact/rank0/calls_0-99.csv'
ok 'where both are there each call is counted once' same_words report

new_out
run_with $f 2 PROBE_FORMAT=compact mpi_dtypes
is 'compact alone: no calls as CSV' "$(cd "$out/rank0" && ls calls_*)" calls_0-99.compact
ok 'compact alone: stacks and communicators as CSV' test -s "$out/rank0/stack_info.csv" -a -s "$out/rank0/comms.csv"
size() { stat -c %s "$1"; }
ok "compact alone: less than a third of the CSV file" "$probe" csv -o "$tmp/alone" "$out"
ok "a third: $(size "$out/rank0/calls_0-99.compact") of $(size "$tmp/alone/rank0/calls_0-99.csv")" \
	[ $((3 * $(size "$out/rank0/calls_0-99.compact"))) -lt "$(size "$tmp/alone/rank0/calls_0-99.csv")" ]

# Small parts, and few steps in a block.
new_out
run_with $f 2 PROBE_FORMAT=csv,compact PROBE_STEP_MARKER=MPI_Bcast PROBE_STEP_COUNT_PER_RECORD=3 mpi_random_kill "$tmp/truth" 7 3000
divide
ok 'blocks of three steps: probe csv' "$probe" csv -o "$tmp/made" "$tmp/compact"
ok 'blocks of three steps: the CSV files byte for byte' same_calls "$tmp/csv" "$tmp/made"

# A disk that is full for a while, and one that takes half of what it is given.
if cc -std=gnu11 -O1 -g -D_GNU_SOURCE -shared -fPIC -fno-builtin -o "$tmp/libfault.so" tests/fault/fault.c -lpthread 2>"$tmp/cc"; then
	for fault in write:28:6:3 write:short; do
		new_out
		rm -f "$tmp/faults"
		PRELOAD=$lib:$tmp/libfault.so run_with $f 2 FAULT_LOG="$tmp/faults" FAULT=$fault PROBE_FORMAT=csv,compact PROBE_STEP_MARKER=MPI_Bcast \
			PROBE_STEP_COUNT_PER_RECORD=3 mpi_random_kill "$tmp/truth" 7 3000
		divide
		ok "$fault: it failed" test -s "$tmp/faults"
		ok "$fault: probe csv" "$probe" csv -o "$tmp/made" "$tmp/compact"
		ok "$fault: the CSV files byte for byte" same_calls "$tmp/csv" "$tmp/made"
	done
else
	fail 'fault.c compiles' "$(cat "$tmp/cc")"
fi

# kill -9, recover: what both formats hold is the same, nothing is there twice.
kills=12 wrong=0 held=0
[ -z "${LONG:-}" ] || kills=1000
killed() {
	rm -rf "$out" "$tmp/killed"
	PROBE_FORMAT=csv,compact PROBE_OUTPUT_DIR=$out PROBE_STEP_MARKER=MPI_Bcast PROBE_STEP_COUNT_PER_RECORD=20 LD_PRELOAD=$lib \
		"$B/apps/$f/mpi_random_kill" "$tmp/truth" "$1" >"$tmp/killed.out" 2>&1 &
	local pid=$!
	wait_until 30 test -e "$out/rank0/journal.bin" || return 1
	sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
	kill -9 $pid
	wait $pid 2>/dev/null
	[ "$(head -c 8 "$out/rank0/journal.bin" | tr -d '\0')" = PROBEJNL ] || return 0 # before its first call
	"$probe" recover "$out" >"$tmp/killed.out" 2>&1 || return 1
	# Killed before its first call was in the journal.
	[ -n "$(ls "$out" 2>/dev/null)" ] && ls "$out"/*/calls_* >/dev/null 2>&1 || return 0
	held=$((held + 1))
	divide
	"$probe" csv -o "$tmp/made" "$tmp/compact" >"$tmp/killed.out" 2>&1 && same_calls "$tmp/csv" "$tmp/made"
}
new_out
for ((i = 0; i < kills; i++)); do
	killed $i 2>"$tmp/killed.err" || { wrong=$((wrong + 1)); echo "# kill $i: $(cat "$tmp/killed.err" "$tmp/killed.out" | tail -3)"; }
done
is "$kills times kill -9: the same rows in both formats" $wrong 0
# How many are killed before their first call is a matter of the machine's load.
ok "some held calls: $held" [ $held -gt 0 ]
finish
