#!/usr/bin/env bash
# Ranks of three hosts whose clocks differ and run at different speeds: the report sets them right, and is never further off than it says.
. "$(dirname "$0")/lib.sh"
program tests/apps/beside/host_clock.c -shared -fPIC
shift_lib=$tmp/host_clock

clock_says() { "$probe" report --json "$out" | python3 -c 'import json, sys
r = json.load(sys.stdin)
k = {x["rank"]: x for x in r["ranks"]}
f = [x["kind"] for x in r["findings"] if x["severity"] in ("bad", "warn")]
def left(rank):
    """ns: how far the corrected clock is off at most, by the clock that the host was given."""
    x, (began, ahead, gain) = k[rank], open(f"{sys.argv[2]}.{rank}").read().split()
    began, ahead, gain = int(began), int(ahead), float(gain)
    m = json.load(open(f"{sys.argv[3]}/rank{rank}/meta.json"))
    first, last = m["first_record_ns"], m["last_record_ns"]
    def off(t):
        true = began + int((t - ahead - began) / (1 + gain))
        return abs(t + x["clock_correction_ns"] - int(x["clock_drift_ppm"] * 1e-6 * (t - x["clock_at_ns"])) - true)
    return max(off(first + (last - first) * i // 10) for i in range(11))
print(eval(sys.argv[1]))' "$1" "$tmp/clock" "$out"; }

for f in $flavours; do
	has_turn $f clocks || continue
	new_out
	run_plain $f 3 mpi_paced 300 8
	run_with $f 3 mpi_paced 300 8
	same_result "$f"
	is "$f: one clock: nothing is set right" "$(clock_says '[(x["clock_correction_ns"], x["clock_drift_ppm"]) for x in k.values()]')" '[(0, 0), (0, 0), (0, 0)]'

	new_out
	PRELOAD="$shift_lib:$lib" run_with $f 3 HOST_CLOCKS='1:node1:40:3000 2:node2:-25:-800' HOST_CLOCK_LOG="$tmp/clock" mpi_paced 300 8
	same_result "$f, with clocks of their own"
	is "$f: three hosts" "$(rows "$out" 'len({M[d]["owner"]["host"] for d in dirs})')" 3
	said=$(clock_says '[(r, round(left(r)), round(k[r]["clock_error_ns"])) for r in (1, 2)]')
	is "$f: the remaining error is within the reported one: $said" "$(clock_says '[left(r) <= k[r]["clock_error_ns"] for r in (1, 2)]')" '[True, True]'
	# A rank that waits for a core, in a run of 3 s, makes it less sure; what it set right is 40 ms and 25 ms.
	is "$f: and that is little" "$(clock_says '[0 < k[r]["clock_error_ns"] < 5e6 for r in (1, 2)]')" '[True, True]'
	is "$f: the first host is what they are set by" "$(clock_says '(k[0]["clock_correction_ns"], k[0]["clock_drift_ppm"], k[0]["clock_error_ns"])')" '(0, 0, 0)'
	like "$f: in words" "$("$probe" report "$out")" 'node1: [0-9.]+ ms ahead, and gains [0-9.]+ ms in each second'
	is "$f: and no rank is blamed" "$(clock_says f)" '[]'
done
finish
