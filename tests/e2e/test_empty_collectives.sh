#!/usr/bin/env bash
# Collectives of 0 elements: some MPIs let a rank go on in them before the others have come. A rank that did not wait was not delayed: no
# straggler, no slow call, nothing about clocks. Where an MPI does wait the late rank is one. With each MPI.
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || skip 'collectives of 0 elements' 'no MPI, or its programs are not built (make apps)'
program tests/apps/beside/host_clock.c -shared -fPIC

# Functions that the page lists for an MPI, in the line of operations in which all ranks wait, or in the line of those in which they do not.
says() { # OUTPUT WORD
	sed -n "s/.*mpi_empty: \([A-Z][a-z_]*\) $2\$/\1/p" "$1" | sort | tr '\n' ' '
}
findings() { # EXPRESSION of f
	"$probe" report --json "$out" | python3 -c 'import json, sys
print([(f["kind"], " ".join(f["text"].split()[:2])) for f in json.load(sys.stdin)["findings"] if eval(sys.argv[1])])' "$1"
}
waited_in() {
	"$probe" report --json "$out" | python3 -c 'import json, sys
print(*[c["waited_in"] for c in json.load(sys.stdin)["late"] if c["operations"] == 80])'
}
is_straggler_in_top() { # RANK
	"$probe" top --json "$out" | python3 -c 'import json, sys
print([r["straggler"] for r in json.load(sys.stdin)["ranks"] if str(r["rank"]) == sys.argv[1]][0])' "$1"
}

for f in $flavours; do
	run_plain $f 3 mpi_empty 6 20
	waits=$(says "$tmp/plain" waits)
	# MPICH 4.0 waits in both, 4.2 in the first; Open MPI in none.
	want=
	[ $f != mpich ] || want='Allreduce Bcast '
	[[ $f != mpich || $(mpichversion.mpich 2>/dev/null || mpichversion) != *'Version:'*' 4.2'* ]] || want='Allreduce '
	is "$f: the rank that is not late waits in" "$waits" "$want"
	new_out
	run_with $f 3 PROBE_STEP_MARKER=MPI_Pcontrol mpi_empty 6 20
	same_result "$f"
	contract "$f" "$out"
	is "$f: the report has no warning" "$(findings 'f["severity"] in ("bad", "warn")')" '[]'
	is "$f: rank 1 is no straggler" "$(findings 'f["kind"] == "straggler" and "rank 1" in f["text"]') $(is_straggler_in_top 1)" '[] False'

	# Clocks that differ by 40 ms: a rank that went on says nothing about when another one came.
	new_out
	PRELOAD="$tmp/host_clock:$lib" run_with $f 3 HOST_CLOCKS='1:node1:40:0 2:node2:-25:0' HOST_CLOCK_LOG="$tmp/clock" PROBE_STEP_MARKER=MPI_Pcontrol mpi_empty 12 10
	is "$f: clocks that differ are set right within the error that is reported" "$("$probe" report --json "$out" | python3 -c 'import json, sys
k = {x["rank"]: x for x in json.load(sys.stdin)["ranks"]}
print([abs(k[r]["clock_correction_ns"] - k[0]["clock_correction_ns"] + a * 1e6) <= k[r]["clock_error_ns"] < 10e6 for r, a in ((1, 40), (2, -25))])')" '[True, True]'

	# One operation alone, rank 1 late each time, and a sum after each: a rank waited in both, or in no more than the sums.
	for op in Allreduce Allgather; do
		new_out
		run_with $f 3 PROBE_STEP_MARKER=MPI_Pcontrol mpi_empty 40 10 $op
		want='False []'
		[[ " $waits" == *" $op "* ]] && want="True [('straggler', 'rank 1')]"
		said=$(waited_in)
		is "$f: $op of 0 elements, rank 1 late 40 times: an operation counts where a rank waited: in $said of 80" \
			"$([ "$said" -gt 70 ] && echo True "$(findings 'f["kind"] == "straggler" and f["text"].startswith("rank 1")')" || { [ "$said" -le 40 ] && echo 'False []'; })" "$want"
	done
done
finish
