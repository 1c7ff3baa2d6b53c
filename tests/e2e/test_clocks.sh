#!/usr/bin/env bash
# Ranks of hosts whose clocks differ and run at different speeds: the report sets them right, and says by how much.
. "$(dirname "$0")/lib.sh"
program tests/apps/beside/host_clock.c -shared -fPIC
shift_lib=$tmp/host_clock

clock_says() { "$probe" report --json "$out" | python3 -c 'import json, sys
r = json.load(sys.stdin)
k = {x["rank"]: x for x in r["ranks"]}
f = [x["kind"] for x in r["findings"] if x["severity"] in ("bad", "warn")]
print(eval(sys.argv[1]))' "$1"; }

for f in $flavours; do
	new_out
	run_plain $f 2 mpi_paced 300 8
	run_with $f 2 mpi_paced 300 8
	same_result "$f"
	is "$f: one clock: nothing is set right" "$(clock_says '[(x["clock_correction_ns"], x["clock_drift_ppm"]) for x in k.values()]')" '[(0, 0), (0, 0)]'

	new_out
	PRELOAD="$shift_lib:$lib" run_with $f 2 HOST_CLOCK_RANKS=1 HOST_CLOCK_NAME=node1 HOST_CLOCK_AHEAD_MS=40 HOST_CLOCK_PPM=3000 \
		mpi_paced 300 8
	same_result "$f, with a clock of its own"
	is "$f: two hosts" "$(rows "$out" 'len({M[d]["owner"]["host"] for d in dirs})')" 2
	# In the middle of the run it is ahead by 40 ms and what it gained until then. A rank that waits for a core makes the drift less sure.
	is "$f: how far it is ahead, what it gains" "$(clock_says '(40e6 < -k[1]["clock_correction_ns"] < 60e6, abs(k[1]["clock_drift_ppm"] - 3000) < 1000, k[0]["clock_correction_ns"], k[0]["clock_drift_ppm"])')" '(True, True, 0, 0)'
	is "$f: what is left is said" "$(clock_says '0 < k[1]["clock_error_ns"] < 20e6')" True
	like "$f: in words" "$("$probe" report "$out")" 'node1: [0-9.]+ ms ahead, and gains [0-9.]+ ms in each second'
	is "$f: and nobody is blamed" "$(clock_says f)" '[]'
	break
done
finish
