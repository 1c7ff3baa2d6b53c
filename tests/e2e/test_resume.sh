#!/usr/bin/env bash
# Key append_output: a job that is killed and goes on from a checkpoint has one folder for each rank, with each step once; what ran twice
# lies beside it. The program says what it calls in which step (mpi_resume.c).
# timeout: 900
# long: with each MPI
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'a run that goes on' 'no MPI, or its programs are not built (make apps)'; finish; }

run_part() { # FIRST STEPS [KILL] [NAME=VALUE ...]
	local arguments=() variables=()
	while [ $# -gt 0 ]; do
		if [[ $1 == *=* ]]; then variables+=("$1"); else arguments+=("$1"); fi
		shift
	done
	run_with $f 2 PROBE_APPEND_OUTPUT=true PROBE_STEP_COUNT_PER_RECORD=4 "${variables[@]}" mpi_resume "${arguments[@]}"
	gone "$out" >/dev/null
}

truth() { # TEXT FIRST LAST [SUFFIX]
	local r
	for r in 0 1; do
		is "$1: rank $r has steps $2 to $3 once" "$(cd tests/e2e && python3 resume_truth.py "$out" $r "${@:2}" 2>&1)" whole
	done
}

steps_of() { # FOLDER
	rows "$out/$1" '" ".join(map(str, sorted({int(r["step"]) for r in R})))'
}

for f in $flavours; do
	has_turn $f resume || continue
	new_out
	run_plain $f 2 mpi_resume 0 12
	run_part 0 12
	same_result "$f"
	truth "$f, a first run" 0 11
	is "$f, a first run: nothing is beside it" "$(cd "$out" && ls -d rank*)" $'rank0\nrank1'

	new_out
	run_part 0 12 7
	isnt "$f: the first run was killed" $status 0
	run_part 5 10 PROBE_START_ITERATION=5
	is "$f: the second ends well" $status 0
	silent "$f: and says nothing" "$tmp/with.err"
	truth "$f, after kill -9" 0 9
	is "$f: what ran again is beside it" "$(steps_of rank0.1) $(steps_of rank1.1)" '5 6 7 5 6 7'
	is "$f: meta.json says where" "$(rows "$out" 'M["rank0"]["resumed"]')" "{'first_step': 5, 'earlier': 'rank0.1'}"
	cp -r "$out" "$tmp/ranks" && rm -r "$tmp"/ranks/rank*.*
	contract "$f, gone on" "$tmp/ranks"
	rm -r "$tmp/ranks"
	ok "$f: the report finds nothing bad" "$probe" report --check "$out"

	run_part 5 8 7 PROBE_START_ITERATION=5
	run_part 5 10 PROBE_START_ITERATION=5
	truth "$f, killed twice after one checkpoint" 0 9
	run_part 10 12 PROBE_START_ITERATION=10
	truth "$f, after a proper end" 0 11
	run_part 2 12 PROBE_START_ITERATION=2
	truth "$f, a further time, from step 2" 0 11
	is "$f: what ran again then" "$(steps_of rank0.5)" '2 3 4 5 6 7 8 9 10 11'
	run_part 0 3
	truth "$f, from the beginning" 0 2
	is "$f: all of it ran again" "$(steps_of rank0.6)" '0 1 2 3 4 5 6 7 8 9 10 11'
	run_with $f 2 PROBE_STEP_COUNT_PER_RECORD=4 mpi_resume 0 2
	is "$f, without the key: the folder moves as a whole" "$(steps_of rank0) $(steps_of rank0.7)" '0 1 0 1 2'

	new_out
	run_part 0 24 22 PROBE_GZIP=true
	wait_until 5 test -e "$out/rank0/calls_0-3.csv.gz"
	"$probe" recover "$out" >/dev/null 2>&1
	run_part 6 8 PROBE_START_ITERATION=6 PROBE_GZIP=true
	gunzip -q "$out"/rank*/*.gz 2>/dev/null
	truth "$f, compressed files" 0 7

	# msprobe's monitor: the folder that was made between two times, here the only one.
	new_out
	printf '{"cc_distribution": {"enable": true}, "ops": ["max"], "step_count_per_record": 4, "append_output": ["Jan01_00-00-00", "Dec31_23-59-59"]}' >"$tmp/monitor.json"
	monitor=(PROBE_CONFIG="$tmp/monitor.json" MONITOR_OUTPUT_DIR="$tmp/mon$f" PROBE_STEP_COUNT_PER_RECORD=4)
	run_with $f 2 "${monitor[@]}" mpi_resume 0 12 7
	gone "$out" >/dev/null
	run_with $f 2 "${monitor[@]}" PROBE_START_ITERATION=5 mpi_resume 5 10
	is "$f, monitor: one folder for each rank, and what ran again" "$(cd "$tmp/mon$f" && ls | sed 's/.*-\(rank.\)-[0-9a-f]*/\1/' | sort | tr '\n' ' ')" 'rank0 rank0.1 rank1 rank1.1 '
	is "$f, monitor: each step once, with the program's largest value" "$(cat "$tmp/mon$f"/*-rank1-????????/other_*.csv |
		awk -F, '/reduce\/rank1/ && /all_reduce/ {print $3, $4}' | sort -n | tr '\n' ';')" "$(
		for s in 0 1 2 3 4 5 6 7 8 9; do echo -n "$s $((2 * (100 * s + 10 * (s % 3) + 3)));"; done)"
	"$probe" recover "$out" >/dev/null
	is "$f, monitor: another time between: a folder of its own" "$(
		sed -i s/Dec31_23-59-59/Jan01_00-00-00/ "$tmp/monitor.json"
		run_with $f 2 "${monitor[@]}" mpi_resume 0 1
		ls "$tmp/mon$f" | grep -c 'rank0-........$')" 2

	# Besides: ranks that a job does not have.
	new_out
	run_with $f 2 PROBE_RANK=4,6-7 mpi_resume 0 2
	like "$f, a list of ranks of which the job has none: it is reported" "$(cat "$tmp/with.err")" 'rank: this job has no rank 4, 6-7, only 0 to 1: nothing is recorded'
	is "$f: ... once, and only rank 0 has a folder, in which the report reads why" "$(grep -c 'no rank' "$tmp/with.err") $(ls "$out" 2>/dev/null)" '1 rank0'
	new_out
	run_with $f 2 PROBE_RANK=1-2 mpi_resume 0 2
	like "$f, one of which it has some" "$(cat "$tmp/with.err")" 'rank: this job has no rank 2, only 0 to 1 *$'
	is "$f: ... these are recorded" "$(ls "$out")" rank1

	new_out
	run_part 0 12 7
	printf 'no journal of ours' >"$out/rank0/journal.bin"
	(cd "$out/rank0" && cksum -- *) >"$tmp/had"
	run_part 5 10 PROBE_START_ITERATION=5
	like "$f, a journal that cannot be read: it is reported" "$(cat "$tmp/with.err")" 'append_output: cannot continue in rank0: .*moved to rank0'
	is "$f: the run has a folder of its own" "$(steps_of rank0) $(steps_of rank1)" '5 6 7 8 9 0 1 2 3 4 5 6 7 8 9'
	is "$f: and nothing of the first is gone" "$(cd "$out/rank0.1" && cksum -- * | comm -23 <(sort "$tmp/had") <(sort))" ''
done
finish
