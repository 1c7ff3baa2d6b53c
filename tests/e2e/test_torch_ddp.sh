#!/usr/bin/env bash
# DistributedDataParallel and all collectives of torch.distributed on gloo, 2 ranks: losses bit for bit as without us, rows
# against what Python-level hooks measure, steps, phases, Python stacks, exceptions, data loader workers.
# timeout: 1500
# beside: does not wait busily
# long: each run started by torchrun
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: DDP'
app=tests/apps/py/ddp_gloo.py
echo "# PyTorch $torch_version"

torchrun_plain 2 $app
is 'DDP: ends well without us' "$status$([ $status = 0 ] || grep -v FutureWarning "$tmp/plain.err" | tail -20)" 0
new_out
TORCHRUN=1 torchrun_with 2 $app
same_output 'DDP'
contract 'DDP' "$out"
is 'DDP: a folder for each rank, none for the launcher' "$(rows "$out" dirs)" "['rank0', 'rank1']"
like 'meta.json says which PyTorch' "$(rows "$out" '[M[d]["libraries"]["torch"] for d in dirs]')" "${torch_version%%+*}|libtorch_cpu.so.${torch_version%.*}"
is 'DDP: a step for each optimizer step' "$(rows "$out" '[M[d]["steps"]["current"] for d in dirs]')" '[5, 5]'
is 'DDP: found by the optimizer' "$(rows "$out" '{M[d]["steps"]["source"] for d in dirs}')" "{'optimizer'}"
is 'DDP: two buckets a step (one in the first), in the backward pass' \
	"$(rows "$out" '[sorted(Counter(r["step"] for r in calls(on(d)) if r["phase"] == "backward").items()) for d in dirs]')" \
	"[[('0', 1), ('1', 2), ('2', 2), ('3', 2), ('4', 2)], [('0', 1), ('1', 2), ('2', 2), ('3', 2), ('4', 2)]]"
is 'DDP: what comes after the last step is in the next' \
	"$(rows "$out" '{r["step"] for r in R if r["op"] in ("gather", "scatter", "send", "recv", "barrier", "reduce", "all_to_all")}')" "{'5'}"
is 'DDP: the lines that started the gradients' \
	"$(rows "$out" 'sorted({re.sub(".*<- ", "", s["python_stack"]) .split("/")[-1] for s in S for r in calls(on(s["folder"])) if r["stack_id"] == s["stack_id"] and r["phase"] == "backward"})')" \
	"['ddp_gloo.py:$(grep -n '^train()' $app | cut -d: -f1) <module>']"
is 'DDP: and the backward() in between' \
	"$(rows "$out" 'all("Tensor.backward <-" in s["python_stack"] and " train <-" in s["python_stack"] for s in S for r in calls(on(s["folder"])) if r["stack_id"] == s["stack_id"] and r["phase"] == "backward")')" True
is 'all have completed but the one that failed' "$(rows "$out" 'sorted({(r["op"], r["flags"]) for r in R if "open" in flags(r) or "unwound" in flags(r) or "untracked" in flags(r)})')" \
	"[('all_reduce', 'inplace;nostats;unwound'), ('reduce_scatter', 'async;open')]"
is 'every collective has the same numbers on both ranks' \
	"$(rows "$out" 'len({tuple(sorted((r["comm"], int(r["comm_seq"]), r["op"], r["root"], r["redop"]) for r in calls(on(d)) if r["op"] not in ("send", "recv") and r["size"] == "2")) for d in dirs})')" 1
is 'groups: their ranks' "$(rows "$out" 'sorted((c["folder"], c["lib"], c["size"], c["rank"], c["world_ranks"]) for c in C)')" \
	"[('rank0', 'c10d', '1', '0', '0'), ('rank0', 'c10d', '2', '0', '0-1'), ('rank1', 'c10d', '2', '1', '0-1')]"
is 'messages: peer, tag, number' "$(rows "$out" 'sorted((r["op"], r["rank"], r["peer"], r["tag"], r["comm_seq"], r["io"]) for r in R if r["op"] in ("send", "recv"))')" \
	"[('recv', '1', '0', '5', '0', 'out'), ('send', '0', '1', '5', '0', 'in')]"
is 'root and operation' "$(rows "$out" 'sorted({(r["op"], r["root"], r["redop"]) for r in R if r["step"] == "5" and (r["root"] or r["redop"])})')" \
	"[('all_reduce', '', 'max'), ('all_reduce', '', 'sum'), ('broadcast', '1', ''), ('gather', '0', ''), ('reduce', '1', 'max'), ('reduce_scatter', '', 'sum'), ('scatter', '0', '')]"
is 'reduce_scatter: what went in, what came out' "$(rows "$out" 'sorted(Counter((r["io"], r["shape"], r["flags"]) for r in on("rank0") if r["op"] == "reduce_scatter").items())')" \
	"[(('in', '3', 'async'), 2), (('in', '4', 'async'), 3), (('in', '4', 'async;open'), 3), (('in', '6', 'async'), 1), (('out', '2', 'async'), 3), (('out', '3', 'async'), 2)]"
is 'shapes and strides' "$(rows "$out" '[(r["dtype"], r["shape"], r["count"]) for r in R if r["op"] == "broadcast" and r["root"] == "1" and r["io"] == "in"]')" \
	"[('float64', '3x4', '12')]"
is 'what is called underneath has no rows' "$(rows "$out" '{r["lib"] for r in R}')" "{'c10d'}"

# Compared with a tool inside Python. Its DDP hook changes the training, so this is a separate run.
new_out
torchrun_with 2 $app --truth "$tmp/truth"
is 'truth: ends well' $status 0
ok 'truth: every collective with the statistics that Python measures' python3 tests/e2e/torch_truth.py "$out" "$tmp/truth"

# Gradient accumulation, workers of the data loader.
torchrun_plain 2 $app --accumulate 3 --steps 3 --workers 2
new_out
torchrun_with 2 $app --accumulate 3 --steps 3 --workers 2
same_output 'accumulation and workers'
is 'accumulation: steps' "$(rows "$out" '[M[d]["steps"]["current"] for d in dirs]')" '[3, 3]'
is 'accumulation: gradients go in the third pass' "$(rows "$out" '{r["micro_step"] for r in calls(R) if r["phase"] == "backward"}')" "{'2'}"
is 'workers: no folder of their own' "$(rows "$out" dirs)" "['rank0', 'rank1']"

# The keys.
new_out
torchrun_with 2 PROBE_CODELINE='ddp_gloo.py\[[0-9]+\] others' PROBE_START_ITERATION=100 PROBE_STACK_BLACKLIST='-packages/torch/' $app
is 'codeline: calls made there, not those of DDP' "$(rows "$out" '({r["step"] for r in R}, {r["phase"] for r in R} - {"forward"})')" "({'105'}, set())"
is 'stack_blacklist: no frames of PyTorch' "$(rows "$out" 'any("-packages/torch/" in s["python_stack"] for s in S)')" False
printf '%s\n' 'distributed:' '  - all_to_all_single' '  - reduce' >"$tmp/list.yaml"
new_out
torchrun_with 2 PROBE_WRAP_OPS="$tmp/list.yaml" $app
is 'a list of msprobe chooses collectives' "$(rows "$out" 'sorted({r["op"] for r in R})')" "['all_to_all', 'reduce']"

# comm-time needs a stub for c10d::Work::wait, and the class's table of virtual functions has that.
cat >"$tmp/parts.py" <<'PY'
import torch, torch.distributed as dist
dist.init_process_group("gloo")
for _ in range(3):
    part = torch.empty(4)
    dist.reduce_scatter(part, [torch.full((4,), float(dist.get_rank() + k)) for k in range(2)])
dist.barrier()
PY
new_out
torchrun_with 2 PROBE_SCALARS=true "$tmp/parts.py"
is 'with scalars: reduce_scatter is followed to its end, and has its result' \
	"$(rows "$out" 'sorted({(r["io"], r["flags"], r["mean"]) for r in R if r["op"] == "reduce_scatter" and r["folder"] == "rank1" and r["io"] == "out"})')" \
	"[('out', 'async', '3')]"
finish
