#!/usr/bin/env bash
# Gather, scatter and what is like them, of which one rank passes another count or type in one step (mpi_signatures.c): the rank,
# the step and what differs. Nothing is reported of what the MPI standard allows, or does not look at.
# timeout: 600
# long: each change of each operation with each MPI
. "$(dirname "$0")/lib.sh"

[ -n "$flavours" ] || {
	skip 'signatures' 'no MPI, or its programs are not built (make apps)'
	finish
}

said() { # the findings that are no notes, the first one only
	"$probe" report --json "$out" | python3 -c '
import json, sys
f = ([f for f in json.load(sys.stdin)["findings"] if f["severity"] != "note" and f["kind"] != "straggler"] or [{}])[0]
print(f.get("kind"), f.get("what"), f.get("ranks"), f.get("step"))'
}

try() { # MPI OP FAULT WHO WANTED
	new_out
	run_with "$1" 4 mpi_signatures "$2" "$3" "$4"
	gone "$out"
	is "$1: $2 $3 of rank $4" "$(said)" "$5"
}

count='mismatch count' dtype='mismatch dtype' nothing='None None None None'
while read -r op fault who what; do
	want=$nothing
	[ "$what" = - ] || want="mismatch $what [$who] 8"
	for f in $flavours; do
		has_turn "$f" "$op $fault $who" || continue
		try "$f" "$op" "$fault" "$who" "$want"
	done
done <<'END'
gather send_less 2 count
gather send_int 2 dtype
gather send_bytes 2 -
gather send_derived 2 -
gather recv_int 0 dtype
gather recv_double 0 dtype
gather recv_derived 0 -
gather recv_less 2 -
gather_in_place send_less 2 count
gather_in_place send_int 0 -
scatter send_less 0 count
scatter recv_int 2 dtype
scatter recv_bytes 2 -
scatter send_int 2 -
scatter send_int 0 dtype
scatter recv_int 0 dtype
alltoallv send_int 2 dtype
scatter_in_place recv_less 0 -
allgather send_int 2 dtype
gatherv send_int 2 dtype
gatherv zero 2 -
scatterv zero 2 -
allgatherv zero 2 -
alltoallv zero 2 -
END
if has_turn "${flavours%% *}" text; then
	new_out
	run_with "${flavours%% *}" 4 mpi_signatures gather send_less 2
	like 'both lines and both sizes are in the text' "$("$probe" report "$out")" \
		'rank 2 .*mpi_signatures\.c:[0-9]+'
fi
finish
