#!/usr/bin/env bash
# Where steps end: probe_step() by a weak symbol, MPI_Pcontrol 0, 1 and 2, a marker with a count, nothing at all; and
# which of them are recorded. With each MPI.
# timeout: 600
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'steps' 'no MPI, or its programs are not built (make apps)'; finish; }

steps_run() { # TEXT FLAVOUR [NAME=VALUE ...] ARGUMENTS of mpi_steps
	local text=$1 f=$2 vars=()
	shift 2
	while [[ $1 == *=* ]]; do
		vars+=("$1")
		shift
	done
	name="$f: $text"
	run_plain $f 2 mpi_steps "$@"
	new_out
	run_with $f 2 "${vars[@]}" mpi_steps "$@"
	same_result "$name"
	silent "$name: nothing is reported" "$tmp/with.err"
}

# The rows that a loop of N steps must produce: calls of each (rank, step), as the loop itself counts them.
by_step() { # PYTHON for the step in which loop turn s is recorded, None: not; TURNS
	rows "$out" '[Counter((r["folder"], int(r["step"])) for r in calls(R)) == c for c in [Counter()] for place in [lambda s: '"$1"']
		if [c.update({("rank%d" % k, place(s)): s % 3 + 1}) for s in range('"$2"') for k in (0, 1) if place(s) is not None]][0]'
}

for f in $flavours; do
	steps_run 'probe_step' $f api 250
	contract "$name" "$out"
	is "$name: every call is in its step" "$(by_step s 250)" True
	is "$name: blocks are nominal" "$(rows "$out" '[x for x in files("rank0") if "calls" in x]')" \
		"['calls_0-99.csv', 'calls_100-199.csv', 'calls_200-299.csv']"
	is "$name: meta.json" "$(rows "$out" '[(m["steps"]["source"], m["steps"]["current"], m["steps"]["last_recorded"]) for m in M.values()]')" \
		"[('api', 250, 249), ('api', 250, 249)]"

	steps_run 'blocks of 7' $f PROBE_STEP_COUNT_PER_RECORD=7 api 16
	contract "$name" "$out"
	is "$name: names" "$(rows "$out" '[x for x in files("rank1") if "calls" in x]')" \
		"['calls_0-6.csv', 'calls_14-20.csv', 'calls_7-13.csv']"

	steps_run 'MPI_Pcontrol' $f pcontrol 10
	contract "$name" "$out" --partial
	is "$name: 2 ends a step, 0 pauses, 1 resumes" "$(by_step 'None if s in (3, 4) else s' 10)" True
	is "$name: what was skipped is counted" "$(rows "$out" '[(m["steps"]["source"], m["calls"]["skipped"]["paused"]) for m in M.values()]')" \
		"[('pcontrol', 3), ('pcontrol', 3)]"
	is "$name: and keeps its number on the communicator" "$(rows "$out" '[int(r["comm_seq"]) for r in calls(on("rank0"))] == [0, 1, 2, 3, 4, 5] + list(range(9, 19))')" True

	# What ranks higher takes over when it fires first, and the number goes on.
	steps_run 'both' $f both 10
	is "$name: each mark counts once" "$(by_step s 10)" True
	is "$name: the last word is probe_step's" "$(rows "$out" '{m["steps"]["source"] for m in M.values()}')" "{'api'}"

	steps_run 'a marker, each third' $f PROBE_STEP_MARKER=MPI_Reduce PROBE_STEP_MARKER_COUNT=3 none 10
	contract "$name" "$out"
	is "$name: the marking call is the last of its step" "$(by_step 's // 3' 10)" True
	printf 'step_marker: MPI_Reduce\nstep_marker_count: 3\n' >"$tmp/probe.yaml"
	steps_run 'the same from the file' $f PROBE_CONFIG="$tmp/probe.yaml" none 10
	is "$name: the same steps" "$(by_step 's // 3' 10)" True
	is "$name: meta.json" "$(rows "$out" '{m["steps"]["source"] for m in M.values()}')" "{'marker'}"

	# Asked for explicitly, a function that is not recorded marks steps all the same.
	printf 'mpi:\n  - MPI_Allreduce\n' >"$tmp/ops.yaml"
	steps_run 'a marker that is not in the list' $f PROBE_WRAP_OPS="$tmp/ops.yaml" PROBE_STEP_MARKER=MPI_Reduce none 10
	is "$name" "$(rows "$out" '[(int(r["step"]), r["api"]) for r in calls(on("rank0"))] == [(s, "MPI_Allreduce") for s in range(10) for k in range(s % 3)]')" True

	steps_run 'nothing' $f none 10
	contract "$name" "$out"
	is "$name: everything is step 0" "$(by_step 0 10)" True
	like "$name: the report says how to get steps" "$("$probe" report "$out" 2>&1)" \
		'no step was ever marked.*probe_step\(\).*MPI_Pcontrol\(2\).*PROBE_STEP_MARKER'
	rm -rf "$tmp/out$outs"

	steps_run 'some steps' $f PROBE_START_STEP=4 PROBE_STEP_INTERVAL=3 PROBE_COLLECT_TIMES=3 api 30
	contract "$name" "$out"
	is "$name: start_step, step_interval, collect_times" "$(by_step 's if s in (4, 7, 10) else None' 30)" True
	is "$name: the join key counts all calls" "$(rows "$out" '[min(int(r["comm_seq"]) for r in R if r["step"] == s) for s in "4 7 10".split()]')" '[7, 13, 19]'
	steps_run 'listed steps' $f 'PROBE_STEP=[2, "8-9"]' api 30
	is "$name" "$(by_step 's if s in (2, 8, 9) else None' 30)" True
	steps_run 'one rank' $f PROBE_RANK=1 api 5
	is "$name" "$(rows "$out" 'dirs, len(calls(R))')" "(['rank1'], 9)"
done
finish
