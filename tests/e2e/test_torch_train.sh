#!/usr/bin/env bash
# Trainings of the kinds that people run (tests/apps/py/trainings.py), on gloo: losses and weights bit for bit as without
# us, a step for each step of the optimizer, collectives against what Python-level hooks measure.
# timeout: 1500
# long: mixed precision, TorchScript, and torch.compile, of which test_torch_compiled.sh has another; torchrun starts the ranks
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: trainings'
app=tests/apps/py/trainings.py
echo "# PyTorch $torch_version"

# SCENE STEPS [RANKS] [NAME=VALUE ...]: without and with us
scene() {
	local name=$1 steps=$2 ranks=${3:-2}
	shift 3
	torchrun_plain $ranks "$@" $app "$name"
	new_out
	torchrun_with $ranks "$@" $app "$name"
	is "$name: ends well without us" "$(cat "$tmp/plain.status")$(grep -m3 Error "$tmp/plain.err")" 0
	same_output "$name"
	contract "$name" "$out"
	is "$name: steps of each rank, found by the optimizer" \
		"$(rows "$out" '{(M[d]["steps"]["current"], M[d]["steps"]["source"]) for d in dirs}, len(dirs)')" "({($steps, 'optimizer')}, $ranks)"
	is "$name: nothing lost, nothing open" \
		"$(rows "$out" '{sum(M[d]["calls"]["dropped"].values()) if isinstance(M[d]["calls"]["dropped"], dict) else M[d]["calls"]["dropped"] for d in dirs}, {r["seq"] for r in R if "open" in flags(r)}')" '({0}, set())'
}

scene ddp 5 4
is 'ddp, 4 ranks: every rank has the same numbers' \
	"$(rows "$out" 'len({tuple(sorted((r["comm"], int(r["comm_seq"]), r["op"]) for r in calls(on(d)))) for d in dirs})')" 1
is 'ddp, 4 ranks: what comes out is the same on all of them' \
	"$(rows "$out" '{len(v) for v in [{r["norm"] for r in R if r["io"] == "out" and r["op"] == "all_reduce" and r["comm_seq"] == n} for n in {r["comm_seq"] for r in R if r["op"] == "all_reduce"}]}')" '{1}'
scene no_sync 3 2
is 'no_sync: gradients are sent in the last of four passes' "$(rows "$out" 'sorted({(r["step"], r["micro_step"]) for r in calls(R) if r["phase"] == "backward" and r["op"] == "all_reduce"})')" \
	"[('0', '3'), ('1', '3'), ('2', '3')]"
scene gan 4 2
is "gan: a step for each pair: it ends with D's, which stepped first" \
	"$(rows "$out" 'sorted(Counter(r["step"] for r in calls(R) if r["phase"] == "backward").items())')" \
	"[('0', 2), ('1', 4), ('2', 4), ('3', 4), ('4', 2)]"
scene checkpoint 3 2
if [ -n "${LONG:-}" ]; then
	scene amp 4 2
	scene jit 4 2
fi
if "$python" -c 'from torch.distributed.fsdp import fully_shard' 2>/dev/null; then
	scene fsdp 3 2
	is 'fsdp: gathers parameters, reduces gradients' "$(rows "$out" '{r["op"] for r in R} >= {"all_gather", "reduce_scatter"}')" True
else
	skip 'fsdp' 'this PyTorch has no fully_shard'
fi
scene loaders 4 2
is 'loaders: workers have no folders, forked or spawned' "$(rows "$out" dirs)" "['rank0', 'rank1']"
if [ -z "${LONG:-}" ]; then
	:
elif command -v c++ >/dev/null; then
	scene compiled 3 2 TORCHINDUCTOR_CACHE_DIR="$tmp/inductor" TORCHINDUCTOR_COMPILE_THREADS=1
else
	skip 'torch.compile' 'no C++ compiler'
fi
if [ -r /usr/share/common-licenses/GPL-3 ]; then
	scene language 8 2
	is 'language: the tokens are chosen after the last step' "$(rows "$out" '{r["step"] for r in R if r["op"] == "broadcast" and r["dtype"] == "int64" and r["count"] == "1"}')" "{'8'}"
	new_out
	torchrun_with 2 $app language --truth "$tmp/truth"
	ok 'language: collectives with the statistics that Python measures' python3 tests/e2e/torch_truth.py "$out" "$tmp/truth"
else
	skip 'language' 'no /usr/share/common-licenses/GPL-3 here'
fi
finish
