#!/usr/bin/env bash
# backward: true. Results, gradients and errors are the same bit for bit; rows of autograd's nodes against what hooks see;
# which operator made which node; which names of a list choose which nodes; operators keep their rows.
# timeout: 1500
# beside: does not wait busily
# long: each Python started for itself, more scenes, and more lists that choose nothing
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: backward'
app=tests/apps/py/backward.py
printf 'aten:\n  - "aten::*"\n' >"$tmp/all.yaml"

with() { # LIST SCENE [NAME=VALUE ...]
	local list=$1 scene=$2
	shift 2
	new_out
	run_script "$tmp/with" 0 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$list" PROBE_JOURNAL_MIB=64 "$@" $app "$scene"
}

# The operators' rows, without what backward: true says in them. Some are of memory that was never written.
operators() {
	rows "$out" '[[r[k] for k in ("step", "micro_step", "api", "op", "io", "index", "dtype", "shape", "phase")]
		for r in sorted(R, key=lambda r: (int(r["seq"]), r["io"], int(r["index"] or 0))) if r["api"].startswith("at::_ops::")]' | md5sum
}

scene() { # SCENE [OPTIONS of backward_truth.py]
	local scene=$1
	shift
	python_plain "$tmp/plain" $app "$scene"
	is "$scene: ends well without us" $status 0
	python_plain "$tmp/hooked" $app "$scene" --truth "$tmp/truth"
	is "$scene: hooks change nothing" "$(cmp "$tmp/plain" "$tmp/hooked" 2>&1)" ''
	with "$tmp/all.yaml" "$scene" PROBE_BACKWARD=true
	same_output "$scene"
	is "$scene: nothing on stderr" "$(libprobe_lines "$tmp/with.err")" ''
	contract "$scene" "$out"
	ok "$scene: nodes as hooks see them, and who made them" python3 tests/e2e/backward_truth.py "$out" "$tmp/truth" "$@"
}

scene train --all
is 'train: steps' "$(rows "$out" 'Counter(r["step"] for r in calls(R) if "Backward" in r["api"])')" "Counter({'0': 13, '1': 13, '2': 13})"
is 'train: a node has the stack of the backward()' "$(rows "$out" '{"backward.py:'"$(grep -n '    loss.backward(\*a' $app | cut -d: -f1)"' backward" in [s["python_stack"] for s in S if s["stack_id"] == r["stack_id"]][0] for r in R if "Backward" in r["api"]}')" '{True}'
is 'train: operators inside a node name it' "$(rows "$out" '{("Backward" in q["api"]) for r in R if r["parent"] for q in R if q["seq"] == r["parent"]}')" '{True}'
is 'train: the convolution of the backward pass is inside its node' \
	"$(rows "$out" '{[q["op"] for q in R if q["seq"] == r["parent"]][0] for r in R if r["op"] == "convolution_backward"}')" "{'ConvolutionBackward0'}"
with_nodes=$(operators)
with "$tmp/all.yaml" train
is 'train: operators have the same rows without it' "$(operators)" "$with_nodes"
is 'train: and no node has' "$(rows "$out" '[r for r in R if "Backward" in r["api"] or "node" in r["flags"] or r["parent"]]')" '[]'
with "$tmp/all.yaml" train PROBE_BACKWARD=true PROBE_NESTED=true
same_output 'train, nested'
contract 'train, nested' "$out"
is 'train, nested: outer calls keep their outputs' "$(rows "$out" 'sorted({r["op"] for r in calls(R) if r["op"] in ("linear", "AddmmBackward0") and not any(q["seq"] == r["seq"] and q["io"] == "out" for q in R)})')" '[]'

scene accumulate --all
is 'accumulate: micro steps' "$(rows "$out" 'sorted({(r["step"], r["micro_step"]) for r in R if r["op"] == "AddmmBackward0"})')" \
	"[('0', '0'), ('0', '1'), ('0', '2'), ('0', '3'), ('1', '0'), ('1', '1'), ('1', '2'), ('1', '3')]"
if [ -n "${LONG:-}" ]; then
	scene odd
	is 'odd: more gradients than rows' "$(rows "$out" '{("more" in flags(r)) for r in R if r["op"] == "CatBackward0"}')" '{True}'
	scene twice --all
	scene threads --all --unordered
fi
scene checkpoints --all
scene errors
is 'errors: nodes that were left by an exception' "$(rows "$out" 'sorted(Counter(r["op"] for r in calls(R) if "unwound" in flags(r) and "Backward" in r["api"]).items())')" \
	"[('ExpBackward0', 4), ('MulBackward0', 2)]"
is 'errors: no node is taken for one around what comes later' "$(rows "$out" '[r["op"] for r in R if r["parent"] and r["phase"] == "forward"]')" '[]'

# ---- which ----

chosen() {
	rows "$out" 'sorted({r["op"] for r in R if "Backward" in r["api"]}), sorted({r["op"] for r in R if "Backward" not in r["api"]})'
}

python_plain "$tmp/plain" $app train
printf 'aten:\n  - aten::addmm\n  - aten::_log_softmax\n  - "Native*Backward0"\n' >"$tmp/some.yaml"
with "$tmp/some.yaml" train PROBE_BACKWARD=true
same_output 'some nodes'
is 'some: nodes of listed operators, and listed nodes' "$(chosen)" "(['AddmmBackward0', 'LogSoftmaxBackward0', 'NativeBatchNormBackward0', 'NativeLayerNormBackward0'], ['_log_softmax', 'addmm'])"
with "$tmp/some.yaml" train
is 'without the key no nodes' "$(chosen)" "([], ['_log_softmax', 'addmm'])"
printf 'aten:\n  - "*Backward0"\n' >"$tmp/nodes.yaml"
with "$tmp/nodes.yaml" train PROBE_BACKWARD=true
same_output 'nodes only'
is 'nodes only' "$(rows "$out" '[r["op"] for r in R if "Backward" not in r["api"]], len({r["op"] for r in R}) > 8')" '([], True)'
printf 'functional:\n  - gelu\ntensor:\n  - flatten\n' >"$tmp/msprobe.yaml"
with "$tmp/msprobe.yaml" train PROBE_BACKWARD=true
is "msprobe's names" "$(chosen)" "(['GeluBackward0'], ['flatten.using_ints', 'gelu'])"
# How many nodes are bound to stubs.
bound() {
	PROBE_WRAP_OPS="$tmp/all.yaml" PROBE_BACKWARD=$1 timeout -k 5 100 "$probe" check --all -- "$python" -c 'import torch' 2>/dev/null </dev/null |
		grep -o 'autograd::generated::[A-Za-z0-9_]*' | sort -u | wc -l
}
if [ -n "${LONG:-}" ]; then
	with "$tmp/nodes.yaml" train
	is 'nodes without the key: no file' "$(ls "$out" 2>/dev/null)" ''
	new_out
	run_script "$tmp/with" 0 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_BACKWARD=true $app train
	same_output 'nothing listed'
	is 'nothing listed: no file' "$(ls "$out" 2>/dev/null)" ''
	is 'without the key no node is bound' "$(bound false)" 0
	isnt 'with the key nodes are bound' "$(bound true)" 0
	with "$tmp/all.yaml" train PROBE_BACKWARD=true PROBE_STEP=1
	same_output 'one step'
	is 'one step' "$(rows "$out" '{r["step"] for r in R}, len({r["seq"] for r in R if "Backward" in r["api"]})')" "({'1'}, 13)"
fi

# ---- process groups ----

printf 'aten:\n  - "*Backward0"\n  - aten::mm\nc10d:\n  - "*"\n' >"$tmp/groups.yaml"
torchrun_plain 2 tests/apps/py/trainings.py ddp
new_out
torchrun_with 2 PROBE_WRAP_OPS="$tmp/groups.yaml" PROBE_BACKWARD=true tests/apps/py/trainings.py ddp
same_output 'ddp'
contract 'ddp' "$out"
is 'ddp: gradients and their reduction' "$(rows "$out" '["backward" in {r["phase"] for r in R if r["op"] == op} for op in ("AddmmBackward0", "all_reduce")], [r["api"] for r in R if r["lib"] == "c10d" and (r["parent"] or "node" in r["flags"])]')" '([True, True], [])'
finish
