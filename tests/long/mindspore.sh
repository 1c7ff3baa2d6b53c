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
	is "$mode: nothing is said" "$(grep libprobe "$tmp/with.err")" ''
	is "$mode: a reduction for each parameter and step, the parameters from rank 0" \
		"$(rows "$out" '[sorted(Counter((r["op"], r["dtype"], r["count"]) for r in calls(on(d))).items()) for d in dirs]')" \
		"[[(('all_reduce', 'float32', '10'), 6), (('all_reduce', 'float32', '5120'), 6), (('all_reduce', 'float32', '72'), 6), (('all_reduce', 'float32', '8'), 6), (('broadcast', 'float32', '10'), 1), (('broadcast', 'float32', '5120'), 1), (('broadcast', 'float32', '72'), 1), (('broadcast', 'float32', '8'), 1)], [(('all_reduce', 'float32', '10'), 6), (('all_reduce', 'float32', '5120'), 6), (('all_reduce', 'float32', '72'), 6), (('all_reduce', 'float32', '8'), 6), (('broadcast', 'float32', '10'), 1), (('broadcast', 'float32', '5120'), 1), (('broadcast', 'float32', '72'), 1), (('broadcast', 'float32', '8'), 1)]]"
	is "$mode: every collective has the same numbers on both ranks" \
		"$(rows "$out" 'len({tuple(sorted((r["comm"], int(r["comm_seq"]), r["op"], r["root"], r["redop"], r["count"]) for r in calls(on(d)))) for d in dirs})')" 1
	is "$mode: the group and its ranks" "$(rows "$out" 'sorted((c["folder"], c["lib"], c["name"], c["size"], c["rank"], c["world_ranks"]) for c in C)')" \
		"[('rank0', 'mindspore', 'mccl_world_group', '2', '0', '0-1'), ('rank1', 'mindspore', 'mccl_world_group', '2', '1', '0-1')]"
	is "$mode: the line that called" \
		"$(rows "$out" 'sorted({s["python_stack"].split(" <- ")[-2].split("/")[-1] for s in S for r in calls(on(s["folder"])) if r["stack_id"] == s["stack_id"] and r["op"] == "all_reduce"})')" \
		"['train_ms.py:$(line 'loss = train_step(') main']"
done

# What numpy says of each call.
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
ms_with 2 $app --nan-at 7:1 --slow 5:1 --steps 14
"$probe" report "$out" >"$tmp/report"
like 'a NaN: named with rank and line' "$(cat "$tmp/report")" "nan +first in step [0-9]+, rank 1: .* main \(train_ms.py:$(line 'loss = train_step(')\)"
like 'a slow rank: named' "$(cat "$tmp/report")" 'straggler rank 1 comes last'

# What is not listed is not there.
new_out
printf 'mpi:\n  - MPI_Bcast\n' >"$tmp/list.yaml"
ms_with 2 PROBE_WRAP_OPS="$tmp/list.yaml" $app --steps 2
is 'nothing listed: no folder' "$status $(ls "$out" 2>/dev/null)" '0 '
finish
