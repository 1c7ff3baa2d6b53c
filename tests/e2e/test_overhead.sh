#!/usr/bin/env bash
# Key max_overhead: one of four ranks skips calls, healthy and with a NaN of another rank or its own. Prints TAP.
# timeout: 600
. "$(dirname "$0")/lib.sh"

# One rank has another configuration than the others.
cat >"$tmp/rank1.sh" <<-'END'
	#!/bin/sh
	if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then
		export PROBE_CONFIG="$THIN_CONFIG"
	fi
	exec "$@"
END
chmod +x "$tmp/rank1.sh"
export MPI_LIMIT=300
steps=200
level_is() { # LEAST: of rank 1
	[ "$(rows "$out" "M['rank1']['thinned'][-1]['level'] >= $1")" = True ]
}
thin() { # [RANK]: a storm until rank 1 skips calls; then its level stays, and the steps begin
	new_out
	local config=$tmp/thin.yaml go=$tmp/go
	rm -f "$go"
	printf 'max_overhead: 0.000001%%\noverhead_window_ms: 1500\n' >"$config"
	start_with $m 4 THIN_CONFIG="$config" "$tmp/rank1.sh" "$PWD/$B/apps/$m/mpi_thinned" "$go" $steps "$@"
	wait_until 120 level_is 4
	printf 'max_overhead: 0.000001%%\noverhead_window_ms: 3600000\n' >"$config.new"
	mv "$config.new" "$config"
	wait_until 120 grep -q '"overhead_window_ms": 3600000' "$out/rank1/meta.json"
	touch "$go"
	wait $launcher
}
accused() { # kind, ranks of each finding that is worse than a note
	"$probe" report --json "$out" | python3 -c '
import json, sys
print([(f["kind"], f["ranks"]) for f in json.load(sys.stdin)["findings"] if f["severity"] != "note"])'
}
results() { # FILE: of the ranks, in their order
	grep digest "$1" | sort
}

for m in $flavours; do
	has_turn $m overhead || continue
	rm -f "$tmp/go" && touch "$tmp/go"
	run_plain $m 4 mpi_thinned "$tmp/go" $steps
	results "$tmp/plain" >"$tmp/plain.results"
	thin
	is "$m: the results are those without libprobe, to the last bit" "$(results "$tmp/started")" "$(cat "$tmp/plain.results")"
	is "$m: healthy: no rank is accused" "$(accused)" '[]'
	like "$m: healthy: the verdict is about what was recorded" "$("$probe" report "$out")" '^Nothing found in what was recorded \('
	like "$m: rules that need each call are named as not applied" "$("$probe" report "$out")" 'not checked: [^(]*skip, order, [^(]*\([0-9,]+ calls were skipped to keep max_overhead'
	# The hash is computed here once more. After the storm the level is the last one.
	cat >"$tmp/truth.py" <<-'END'
		import csv, glob, json, sys
		M = (1 << 64) - 1
		def kept(comm, n, one_in):
		    x = (comm * 0x9e3779b97f4a7c15 + n + 0x632be59bd9b4e019) & M
		    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & M
		    x = (x ^ x >> 27) * 0x94d049bb133111eb & M
		    return (x ^ x >> 31) % one_in == 0
		meta = json.load(open(sys.argv[1] + "/rank1/meta.json"))
		last, first = meta["thinned"][-1], int(sys.argv[2])
		calls = [{(int(r["comm"], 16), int(r["comm_seq"])) for f in glob.glob(sys.argv[1] + "/rank%d/calls_*.csv" % k)
		          for r in csv.DictReader(open(f)) if r["op"] != "send_recv" and int(r["step"]) >= meta["steps"]["current"] - first}
		         for k in (0, 1)]
		wanted = {c for c in calls[0] if kept(*c, last["one_call_in"])}
		print(calls[1] == wanted, len(calls[0]) == 7 * first, len(wanted) > 0,
		      meta["calls"]["seen"] == meta["calls"]["recorded"] + meta["calls"]["skipped"]["overhead"],
		      last["to"] is None, all(a["to"] == b["from"] and a["level"] < b["level"] for a, b in zip(meta["thinned"], meta["thinned"][1:])))
	END
	is "$m: the rank keeps those calls whose hash says so, and no others" "$(python3 "$tmp/truth.py" "$out" $steps)" 'True True True True True True'
	is "$m: a large tensor has no values there" "$(rows "$out" "sorted({(r['folder'], r['min'] == '') for r in R if r['count'] == '16384' and int(r['step']) > M['rank1']['steps']['current'] - $steps} - {('rank1', True)})")" \
		"[('rank0', False), ('rank2', False), ('rank3', False)]"
	contract "$m: the folder" "$out"

	thin 2
	is "$m: a NaN of a rank that recorded everything is that rank's" "$(accused)" "[('nan', [2])]"
	like "$m: it was first seen there" "$("$probe" report "$out")" 'first seen in step [0-9]+, rank 2: 1 NaN of 1 float64 elements in the input'
	thin 1
	is "$m: of a NaN of the rank that skipped calls no rank is accused" "$(accused)" "[('nan', [])]"
	like "$m: it was first seen elsewhere" "$("$probe" report "$out")" 'first seen in step [0-9]+, '
done
[ -n "$flavours" ] || skip 'key max_overhead' 'no MPI'
finish
