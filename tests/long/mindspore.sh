#!/usr/bin/env bash
# MindSpore on the CPU, 2 ranks under msrun, in a virtual environment of its own (`make msvenv`, 2 GB; PROBE_TEST_MINDSPORE=python
# takes that one): losses bit for bit as without us, collectives against numpy, stacks, groups, faults that are named.
# timeout: 3600
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/mindspore.sh
mindspore_python 'MindSpore'
echo "# MindSpore $ms_version"
app=tests/apps/train_ms.py
line() { grep -n "$1" $app | head -1 | cut -d: -f1; }

for mode in pynative graph jit; do
	ms_plain 2 $app --steps 6 --mode $mode
	is "$mode: ends well without us" "$status $(grep -c ^step "$tmp/plain")" '0 6'
	new_out
	ms_with 2 $app --steps 6 --mode $mode
	same_result "$mode: losses and weights"
	contract "$mode" "$out" --partial
	is "$mode: a folder for each rank, none for msrun or its scheduler" "$(rows "$out" dirs)" "['rank0', 'rank1']"
	is "$mode: nothing is reported" "$(libprobe_lines "$tmp/with.err")" ''
	is "$mode: a reduction for each parameter and step, the parameters from rank 0" \
		"$(rows "$out" '[sorted(Counter((r["op"], r["dtype"], r["count"]) for r in calls(on(d))).items()) for d in dirs]')" \
		"[[(('all_reduce', 'float32', '10'), 6), (('all_reduce', 'float32', '5120'), 6), (('all_reduce', 'float32', '72'), 6), (('all_reduce', 'float32', '8'), 6), (('broadcast', 'float32', '10'), 1), (('broadcast', 'float32', '5120'), 1), (('broadcast', 'float32', '72'), 1), (('broadcast', 'float32', '8'), 1)], [(('all_reduce', 'float32', '10'), 6), (('all_reduce', 'float32', '5120'), 6), (('all_reduce', 'float32', '72'), 6), (('all_reduce', 'float32', '8'), 6), (('broadcast', 'float32', '10'), 1), (('broadcast', 'float32', '5120'), 1), (('broadcast', 'float32', '72'), 1), (('broadcast', 'float32', '8'), 1)]]"
	is "$mode: every collective has the same numbers on both ranks" \
		"$(rows "$out" 'len({tuple(sorted((r["comm"], int(r["comm_seq"]), r["op"], r["root"], r["redop"], r["count"]) for r in calls(on(d)))) for d in dirs})')" 1
	is "$mode: the group and its ranks" "$(rows "$out" 'sorted((c["folder"], c["lib"], c["name"], c["size"], c["rank"], c["world_ranks"]) for c in C)')" \
		"[('rank0', 'mindspore', 'mccl_world_group', '2', '0', '0-1'), ('rank1', 'mindspore', 'mccl_world_group', '2', '1', '0-1')]"
	# In PYNATIVE mode that of each operator, else that of the call of the graph.
	[ $mode = pynative ] && calls="'reduce', 'construct', 'main'" || calls="'main'"
	is "$mode: the lines that called, innermost first" \
		"$(rows "$out" 'sorted({tuple(re.findall(r"train_ms.py:\d+ (?:\w+\.)*(\w+)(?= <-)", s["python_stack"])) for s in S for r in calls(on(s["folder"])) if r["stack_id"] == s["stack_id"] and r["op"] == "all_reduce"})')" \
		"[($calls$([ $mode = pynative ] || echo ,))]"
	is "$mode: ... in the line of the loop" \
		"$(rows "$out" 'sorted({re.findall(r"train_ms.py:(\d+) main", s["python_stack"])[0] for s in S for r in calls(on(s["folder"])) if r["stack_id"] == s["stack_id"] and r["op"] == "all_reduce"})')" \
		"['$(line 'loss = train_step(')']"
done

# Each call, compared with numpy's results.
for how in '' --graph; do
	new_out
	ms_with 2 tests/apps/py/ms_collectives.py --truth "$tmp/truth" $how
	is "collectives$how: the results are right" "$status" 0
	ok "collectives$how: every one with the statistics that numpy computes" python3 tests/e2e/torch_truth.py "$out" "$tmp/truth"
	is "collectives$how: roots and operations" "$(rows "$out" 'sorted({(r["op"], r["root"], r["redop"]) for r in R})')" \
		"[('all_gather', '', ''), ('all_reduce', '', 'sum'), ('broadcast', '0', ''), ('broadcast', '1', '')]"
	is "collectives$how: groups" "$(rows "$out" 'sorted({(c["name"], c["world_ranks"]) for c in C})')" \
		"[('everyone', '0-1'), ('mccl_world_group', '0-1')]"
done

# Faults.
new_out
ms_with 2 $app --nan-at 12:1 --slow 3:1 --delay 2 --steps 16
"$probe" report "$out" >"$tmp/report"
like 'a NaN: named with rank and line' "$(cat "$tmp/report")" \
	"nan +first in step [0-9]+, rank 1: 72 NaN of 72 float32 elements in the input of all_reduce #52 .*called from TrainStep.reduce \\(train_ms.py:$(line 'reduced += ')\\)"
like 'a slow rank: named' "$(cat "$tmp/report")" 'straggler rank 1 arrives last'

# The operator that made it, by `probe run`.
new_out
ms_run "$tmp/with" 2 "$probe" run --preset nan -o "$out" -- msrun $app --nan-at 5:1 --steps 8
"$probe" report "$out" >"$tmp/report"
like 'preset nan: the operator, and the line' "$(cat "$tmp/report")" \
	"nan +first in step 5, rank 1: 1 NaN of 2,048 float32 elements in the result of Log .*called from features \\(train_ms.py:$(line 'return ops.log')\\)"

# The rank without a variable that says it.
new_out
rank_script=$tmp/no_rank.py
printf '%s\n' 'import os, runpy, sys' 'for k in ("RANK_ID", "MS_NODE_ID"): os.environ.pop(k, None)' \
	"sys.argv[0] = '$PWD/$app'" 'runpy.run_path(sys.argv[0], run_name="__main__")' >"$rank_script"
ms_with 2 "$rank_script" --steps 2
is 'no variable says the rank' "$(rows "$out" 'sorted((c["folder"], c["rank"]) for c in C)')" "[('rank0', '0'), ('rank1', '1')]"

# Unlisted functions are not recorded.
new_out
printf 'mpi:\n  - MPI_Bcast\n' >"$tmp/list.yaml"
ms_with 2 PROBE_WRAP_OPS="$tmp/list.yaml" $app --steps 2
is 'nothing listed: no folder' "$status $(ls "$out" 2>/dev/null)" '0 '
finish
