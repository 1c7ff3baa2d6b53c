#!/usr/bin/env bash
# Numbers of each step of an MPI program against those that it takes itself.
. "$(dirname "$0")/lib.sh"

for m in $flavours; do
	new_out
	run_plain "$m" 2 mpi_scalars "$tmp/numbers"
	run_with "$m" 2 PROBE_SCALARS=true mpi_scalars "$tmp/numbers"
	same_result "$m"
	for r in 0 1; do
		ok "$m: times of rank $r as the program has them" python3 tests/e2e/scalars_truth.py "$out/rank$r" "$tmp/numbers.$r"
	done
	is "$m: which numbers there are" "$(rows "$out" 'sorted({r["name"] for r in V})')" \
		"['comm-time', 'iteration-time', 'memory-peak', 'memory-rss']"
	contract "$m" "$out"
done

# The report's finding about both ranks, for the last flavour.
if [ -n "$flavours" ]; then
	"$probe" report --json "$out" >"$tmp/report.json"
	is 'report --json: mean, least and largest of each of the last five steps over the ranks' "$(rows "$out" "(lambda have, rows: [
		{n['step'] for n in have}, len(have) == 20,
		all(abs(n['mean'] * 2 - sum(v)) <= 1e-9 * sum(v) and (n['min'], n['max'], n['ranks']) == (min(v), max(v), 2)
		for n in have for v in [[float(r['value']) for r in rows if (int(r['step']), r['name']) == (n['step'], n['name'])]])])(
		json.load(open('$tmp/report.json'))['scalars'], V)")" "[{1, 2, 3, 4, 5}, True, True]"
	like 'report: a line for each' "$("$probe" report "$out" | grep -A1 '^  step  ')" 'step +1 +2 +3 +4 +5 iteration-time/mean( +[0-9.]+){5}'
	is 'report --step 2: of that step alone' "$("$probe" report --step 2 --json "$out" | python3 -c '
import json, sys
print({n["step"] for n in json.load(sys.stdin)["scalars"]})')" "{2}"
fi
[ -n "$flavours" ] || skip 'MPI' 'none is installed'
finish
