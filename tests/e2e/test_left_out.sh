#!/usr/bin/env bash
# A run in which the settings chose no call still has a folder, and the report names the keys that chose so, what the job had,
# and what to change. With each MPI.
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'excluded calls' 'no MPI, or its programs are not built (make apps)'; finish; }

# NAME FLAVOUR FOLDERS PATTERN [VARIABLE=VALUE...]: a run of 6 steps on 2 ranks, of which no call is recorded.
nothing_chosen() {
	local name="$2: $1" f=$2 folders=$3 pattern=$4 said
	shift 4
	new_out
	run_with $f 2 "$@" "$B/apps/$f/mpi_steps" none 6
	is "$name: the job ends as without libprobe" $status 0
	is "$name: folders" "$(cd "$out" && echo rank*)" "$folders"
	is "$name: no row" "$(cat "$out"/rank*/calls_*.csv 2>/dev/null)" ''
	said=$("$probe" report "$out" 2>&1)
	is "$name: report: status" $? 0
	like "$name: report" "$said" "$pattern"
	"$probe" report --check "$out" >/dev/null 2>&1
	is "$name: report --check: status" $? 0
}

for f in $flavours; do
	nothing_chosen 'step, no step is marked' $f 'rank0 rank1' \
		'empty +no call was recorded: the key step chose 3-4, and all calls are of step 0, because nothing ended a step: PROBE_STEP_MARKER=.*; change that key' \
		PROBE_STEP=3-4
	nothing_chosen 'step, steps are marked' $f 'rank0 rank1' \
		'empty +no call was recorded: the key step chose 50, the job has steps 0 to 6; change that key' \
		PROBE_STEP=50 PROBE_STEP_MARKER=MPI_Reduce
	is "$f: the steps are known" "$(rows "$out" '{(m["steps"]["current"], m["steps"]["source"]) for m in M.values()}')" "{(6, 'marker')}"
	nothing_chosen 'rank' $f 'rank0' \
		'empty +no call was recorded: the key rank chose 7, the job has ranks 0-1; .* ranks +rank 1 not recorded: the setting rank selects 7' \
		PROBE_RANK=7
	nothing_chosen 'only' $f 'rank0 rank1' \
		'Warnings.* empty +no call was recorded: only: \[all_gather\] excluded the functions that were called; change that key' \
		PROBE_ONLY='[all_gather]'
	# Who skips all wants that: no warning.
	nothing_chosen 'skip all' $f 'rank0 rank1' \
		'Notes empty +no call was recorded: skip: \[\*\] excluded the functions' PROBE_SKIP='["*"]'
	unlike "$f: skip all: no warning" "$("$probe" report "$out" 2>&1)" 'Warnings'

	new_out
	run_with $f 2 PROBE_SKIP='[reduce]' PROBE_STEP_MARKER=MPI_Reduce "$B/apps/$f/mpi_steps" none 6
	like "$f: skip, some calls: a note" "$("$probe" report "$out" 2>&1)" 'Notes.* skipped +skip: \[reduce\] excludes functions'
	like "$f: report --step of no step" "$("$probe" report --step 70 "$out" 2>&1)" \
		'empty +no call was recorded in the steps that --step chose; the job has steps 0 to 6'
	rm "$out"/rank*/calls_*
	like "$f: the files of calls are gone" "$("$probe" report "$out" 2>&1)" \
		'empty +no call is in the files, but the ranks recorded [0-9]+: calls_\*.csv were removed or not copied'
	# A rank that is not selected leaves no folder where another one is.
	new_out
	run_with $f 2 PROBE_RANK=1 PROBE_STEP=50 "$B/apps/$f/mpi_steps" none 6
	is "$f: a selected rank without a selected step" "$(cd "$out" && echo rank*)" rank1
	# Processes that call nothing leave nothing.
	new_out
	LD_PRELOAD=$lib PROBE_OUTPUT_DIR=$out PROBE_STEP=50 sh -c 'ls / >/dev/null; true'
	is "$f: shells leave nothing" "$(ls "$out" 2>/dev/null)" ''
done
finish
