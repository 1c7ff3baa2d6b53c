#!/usr/bin/env bash
# A job that its launcher restarts with fewer ranks after one was killed: the report names both attempts, and joins nothing of them.
# Prints TAP.
. "$(dirname "$0")/lib.sh"

new_out
start_attempt() { # COUNT RANKS WHAT STEP
	pids=()
	for ((r = 0; r < $2; r++)); do
		background env RANK=$r WORLD_SIZE="$2" APP_ID="$tmp/id$1" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" \
			TORCHELASTIC_RUN_ID=job17 TORCHELASTIC_RESTART_COUNT="$1" "$B/apps/nccl/nccl_waits" "$3" "$4" >"$tmp/said.$1.$r" 2>&1
		pids[r]=$!
	done
}

start_attempt 0 4 gone 20
wait_until 30 eval '! kill -0 ${pids[2]} 2>/dev/null'
sleep 3
kill -9 "${pids[0]}" "${pids[1]}" "${pids[3]}" 2>/dev/null
wait "${pids[@]}" 2>/dev/null
start_attempt 1 3 nothing 5
wait "${pids[@]}"
said=$("$probe" report "$out" 2>&1)
like 'the_first_attempt_names_who_ended_first' "$said" 'attempts +0: 4 of 4 ranks, to step 20; rank 2 ended first, without a message'
like 'the_second_attempt_has_its_own_world_size' "$said" '1: 3 of 3 ranks, to step 15; it ended properly'
is 'only_the_newest_attempt_is_read' "$("$probe" report --json "$out" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["world_size"], len(d["ranks"]), [(a["attempt"], a["world_size"], a["ranks"], a.get("first_rank")) for a in d["attempts"]], d["verdict"]["faults"])')" \
	"3 3 [('0', 4, 4, 2), ('1', 3, 3, None)] 0"
finish
