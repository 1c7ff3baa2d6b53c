#!/usr/bin/env bash
# A training step that is a cell of the program's own, as MindSpore's users write it outside of Model.train: its parameters have names by the
# cell's members. Every number against numpy in the script itself, in PYNATIVE, GRAPH and jit; a number that is not known is absent.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/mindspore.sh
mindspore_python 'MindSpore: a train cell of one'"'"'s own'
echo "# MindSpore $ms_version"
app=tests/apps/py/ms_train_cell.py
ms_python=$ms_bin/python

cell() { # NAME ABSENT [OPTIONS]: one rank
	local name=$1 absent=$2
	shift 2
	timeout -k 5 600 "$ms_python" $app "$tmp" "$@" 2>"$tmp/plain.err" </dev/null | grep -E '^(step|rank) ' >"$tmp/plain"
	new_out
	timeout -k 5 600 env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_PRESET=state PROBE_METRICS=true "$ms_python" $app "$tmp" "$@" \
		2>"$tmp/with.err" </dev/null | grep -E '^(step|rank) ' >"$tmp/with"
	is "$name: 4 losses without us" "$(grep -c ^step "$tmp/plain")" 4
	ok "$name: losses and weights" cmp "$tmp/plain" "$tmp/with"
	ok "$name: every number of each step as numpy has it" python3 tests/long/ms_cell_truth.py "$out"/host-* "$tmp/truth_0.json" --absent "$absent"
	is "$name: nothing is reported" "$(grep -a '^libprobe' "$tmp/with.err" | head -3)" ''
	rm -f "$tmp"/truth_*.json
}

for mode in pynative graph jit; do
	# What jit gives back is made later.
	[ $mode = jit ] && absent=loss || absent=-
	cell "$mode" $absent --mode $mode
	cell "$mode, the network set last" $absent --mode $mode --members net
	cell "$mode, no names by the cell" $absent --mode $mode --members plain
	cell "$mode, SGD, not clipped" $absent --mode $mode --optimizer sgd --clip none
	# In PYNATIVE mode the step of the first one ends the step.
	[ $mode = pynative ] || cell "$mode, two optimizers" $absent --mode $mode --optimizer two
	# What it was before is not known where each gradient is clipped by itself.
	cell "$mode, each gradient clipped" $absent,grad-norm --mode $mode --clip each
done

comm_times() { # RANK: the smallest and the largest, of steps in which rank 1 was late
	rows "$out" "(lambda t: (min(t), max(t)))([float(v['value']) for v in V if v['folder'] == 'rank$1' and v['name'] == 'comm-time' and v['step'] != '0'])" | tr -d '(),'
}
for mode in pynative graph jit; do
	new_out
	ms_with 2 PROBE_PRESET=state PROBE_METRICS=true $app "$tmp" --ranks 2 --mode $mode --late 1
	is "2 ranks, $mode: ends well" "$status" 0
	for r in 0 1; do
		ok "2 ranks, $mode: every number of rank $r" python3 tests/long/ms_cell_truth.py "$out/rank$r" "$tmp/truth_$r.json" \
			--absent "$([ $mode = jit ] && echo loss)"
	done
	read -r least _ < <(comm_times 0)
	read -r _ most < <(comm_times 1)
	# It lies within the step; while rank 1 sleeps rank 0 has nothing to do but wait for it.
	ok "2 ranks, $mode: comm-time is what rank 0 waits for rank 1: at least $least ms, rank 1 at most $most" \
		awk -v a="$least" -v b="$most" 'BEGIN { exit !(a > 600 && b > 0 && b < a) }'
	is "2 ranks, $mode: comm-time lies within the step" \
		"$(rows "$out" "all(float(a['value']) <= float(b['value']) for a in V if a['name'] == 'comm-time' for b in V if b['name'] == 'iteration-time' and (a['folder'], a['step']) == (b['folder'], b['step']))")" True
	rm -f "$tmp"/truth_*.json
done

# A list without collectives: nothing of them is seen, so the time that they took is not known.
new_out
printf 'mindspore:\n  - MatMul\n' >"$tmp/list.yaml"
ms_with 2 PROBE_PRESET=state PROBE_METRICS=true PROBE_WRAP_OPS="$tmp/list.yaml" $app "$tmp" --ranks 2
is 'collectives not listed: no comm-time' "$(rows "$out" "sorted({v['name'] for v in V} & {'comm-time', 'iteration-time'})")" "['iteration-time']"
finish
