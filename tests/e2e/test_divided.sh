#!/usr/bin/env bash
# A report by several threads or processes says what a single one says, to the letter: of whole runs, of faults, of damaged and missing
# files; on one host and in parts, as a launcher starts them.
# timeout: 300
# long: a part that never comes
. "$(dirname "$0")/lib.sh"
gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }

# The reading time differs each time.
report() { "$probe" report "$@" 2>&1 | sed '/"read_s"/d'; }

compared() { # TEXT DIR [PARTS]
	local k n=${3:-3} all=
	rm -f "$tmp"/part.*
	is "$1: -j 2" "$(report -j 2 "$2")" "$(report "$2")"
	is "$1: -j 4, --json" "$(report -j 4 --json "$2")" "$(report --json "$2")"
	for ((k = 0; k < n; k++)); do
		"$probe" report --part $k/$n --json "$2" >"$tmp/part.$k" 2>&1 &
	done
	wait
	for ((k = 0; k < n; k++)); do
		[ ! -s "$tmp/part.$k" ] || all+=x
	done
	is "$1: parts: one of them reports" "$all" x
	is "$1: parts: the same" "$(cat "$tmp"/part.* | sed '/"read_s"/d')" "$(report --json "$2")"
	is "$1: parts: nothing is left over" "$(ls "$2" | grep -c parts)" 0
}

"$gen" -r 12 -s 40 -c 6 "$tmp/good"
compared 'a run' "$tmp/good"
"$gen" -r 12 -s 40 -c 6 -b 20:5 "$tmp/nan"
compared 'a NaN' "$tmp/nan"
"$gen" -r 12 -s 40 -c 6 -m 20:5 "$tmp/mismatch"
compared 'a mismatch' "$tmp/mismatch"
"$gen" -r 12 -s 40 -c 6 -x 20:5 "$tmp/hang"
compared 'a rank that stops' "$tmp/hang"
"$gen" -r 12 -s 40 -c 6 "$tmp/bad"
printf 'no calls\n' >"$(echo "$tmp"/bad/rank3/calls_*.csv)"
f=$(echo "$tmp"/bad/rank4/calls_*.csv)
head -c 5000 "$f" >"$f.short" && mv "$f.short" "$f"
rm -r "$tmp/bad/rank7"
compared 'damaged and missing files' "$tmp/bad"
"$gen" -r 12 -s 400 -c 6 -b 20:5 "$tmp/packed"
gzip "$tmp"/packed/rank*/calls_*.csv
compared 'compressed, with more NaN than one batch of calls' "$tmp/packed"
# Without marked steps each part numbers the rounds of its own ranks and passes them on: those of a loop, and longer ones around it.
cp -r "$tmp/nan" "$tmp/rounds"
sed -i -E '2,$s/^[0-9]+,/0,/' "$tmp"/rounds/rank*/calls_*.csv
sed -i 's/"source": "api"/"source": "none"/' "$tmp"/rounds/rank*/meta.json
compared 'rounds of the calls' "$tmp/rounds"
like 'rounds of the calls: they are the steps' "$("$probe" report "$tmp/rounds")" '40 by the period of the calls'
python3 tests/e2e/loop_folders.py "$tmp" slow_between
compared "longer rounds" "$tmp/slow_between"
compared "longer rounds, part 0 reads none" "$tmp/slow_between" 4
like 'longer rounds: by them a rank is slow' "$("$probe" report -j 3 "$tmp/slow_between")" 'longer rounds that its calls make'
for j in 2 3 16; do
	is "one rank: -j $j" "$(report -j $j --rank 5 "$tmp/nan")" "$(report --rank 5 "$tmp/nan")"
done
# Threads that end while files are left: nothing hangs, and the signal is what ends it.
"$gen" -r 12 -s 4000 -c 6 "$tmp/long"
"$probe" report -j 3 "$tmp/long" >/dev/null 2>&1 &
sleep 0.1
kill -TERM $!
wait $!
is '-j 3: ended by a signal' $? 143

# By the launcher's variables alone, and with a folder of one's own for what the parts hand over.
mkdir "$tmp/parts"
for k in 0 1; do
	OMPI_COMM_WORLD_RANK=$k OMPI_COMM_WORLD_SIZE=2 "$probe" report --json --parts "$tmp/parts" "$tmp/nan" >"$tmp/launched.$k" 2>&1 &
done
wait
is 'launched: the same' "$(cat "$tmp"/launched.* | sed '/"read_s"/d')" "$(report --json "$tmp/nan")"
is 'launched: nothing is left over' "$(ls "$tmp/parts")" ''
is '--part 0/1 is not divided, whatever launcher started it' "$(OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 report --part 0/1 --json "$tmp/nan")" "$(report --json "$tmp/nan")"
# By launchers themselves: one of their processes reports, which then has a status.
for m in $flavours; do
	mpi_run $m 3 "$probe" report --json "$tmp/nan" >"$tmp/launched" 2>"$tmp/err"
	is "$m: launched: the same" "$(sed '/"read_s"/d' "$tmp/launched")" "$(report --json "$tmp/nan")"
done

# A report that was killed while it put the parts together leaves all of them: what another part had written, and that it had begun.
pair() { # FIRST SECOND: the two parts, one of them a second later
	"$probe" report --json --part $1/2 --parts "$tmp/parts" "$tmp/nan" >"$tmp/part.$1" 2>&1 &
	sleep 1
	"$probe" report --json --part $2/2 --parts "$tmp/parts" "$tmp/nan" >"$tmp/part.$2" 2>&1
	wait $!
}
for first in 0 1; do
	"$probe" report --json --part 0/2 --parts "$tmp/parts" "$tmp/nan" >/dev/null 2>&1 &
	wait_until 10 sh -c 'test -e "$1"/parts/*/merged-by' - "$tmp"
	kill -KILL $! && wait $! 2>/dev/null
	left=$(echo "$tmp"/parts/*)
	x=$(od -An -tx8 "$left/merged-by" | tr -d ' ')
	echo 'of yesterday' >"$left/part-1-$x"
	touch "$left/go-$x"
	pair $first $((1 - first))
	is "files of a killed report do no harm, part $first first" \
		"$(cat "$tmp"/part.[01] | sed '/"read_s"/d')" "$(report --json "$tmp/nan")"
	is "and is removed, part $first first" "$(ls "$tmp/parts")" ''
done
# One that waits for the others ends by a signal, and leaves nothing.
"$probe" report --part 0/2 --parts "$tmp/parts" "$tmp/nan" >/dev/null 2>&1 &
wait_until 10 sh -c 'test -e "$1"/parts/*/merged-by' - "$tmp"
kill -TERM $!
wait $!
is 'part 0 waits: ended by a signal' $? 143
is 'part 0 waits: nothing is left' "$(ls "$tmp/parts")" ''
SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 "$probe" report --check "$tmp/nan" >"$tmp/check"
is 'one task of srun, --check' $? 1
for part in 3/3 1 x/2 0/0; do
	"$probe" report --part $part "$tmp/nan" >/dev/null 2>"$tmp/err"
	is "--part $part: status" $? 2
	like "--part $part: says what is accepted" "$(cat "$tmp/err")" 'accepted: K/N'
done

# A part that never comes is named after a minute; the report says so if one ends in the middle.
if [ -n "${LONG:-}" ]; then
	"$probe" report --part 0/3 "$tmp/good" >"$tmp/out" 2>"$tmp/err" &
	"$probe" report --part 2/3 "$tmp/good" >/dev/null 2>&1
	is 'a part is missing: status' $? 2
	wait
	like 'a part is missing: it is named' "$(cat "$tmp/err")" 'part 1 of 3 did not come'
	"$probe" report --part 1/2 "$tmp/good" >/dev/null 2>"$tmp/err"
	is 'part 0 is missing: status' $? 2
	like 'part 0 is missing: it is named' "$(cat "$tmp/err")" 'part 0 of 2 did not come'
	"$probe" report --part 0/2 "$tmp/long" >"$tmp/out" 2>"$tmp/err" &
	zero=$!
	"$probe" report --part 1/2 "$tmp/long" >/dev/null 2>&1 &
	wait_until 10 sh -c 'test -s "$1"/long/report.parts-*/part-1-*' - "$tmp"
	kill -KILL $!
	wait $zero
	like 'a part ends in the middle: the report says so' "$(cat "$tmp/out")" 'process that read these files ended too early'
fi

# No library of a launcher's is ever asked.
is 'only the libraries that the command needs are loaded' "$(LD_DEBUG=libs OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 "$probe" report "$tmp/nan" 2>&1 | grep -ciE 'calling init.*(mpi|pmi|slurm)')" 0
finish
