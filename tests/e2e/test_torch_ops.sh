#!/usr/bin/env bash
# Operators: with all of them recorded every result, error and loss is the same bit for bit; rows against what Python
# measures; which names of a list choose which operators.
# timeout: 600
# beside: does not wait busily
# long: each Python started for itself
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: operators'
app=tests/apps/py/ops.py

with_list() { # LIST [NAME=VALUE ...]: a YAML text
	printf '%b\n' "$1" >"$tmp/list.yaml"
	shift
	new_out
	run_script "$tmp/with" 0 PYTHONWARNINGS=ignore LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" \
		PROBE_JOURNAL_MIB=64 "$@" $app --truth "$tmp/truth"
}

python_plain "$tmp/plain" $app
is 'operators: ends well without us' $status 0
with_list 'aten:\n  - "aten::*"'
same_output 'all operators'
is 'all operators: nothing on stderr but what there was' "$(libprobe_lines "$tmp/with.err")" ''
contract 'all operators' "$out"
ok 'all operators: shapes and statistics as Python measures them' python3 tests/e2e/ops_truth.py "$out" "$tmp/truth"
is 'phases' "$(rows "$out" 'sorted({r["phase"] for r in R})')" "['backward', 'forward', 'optimizer']"
is 'steps' "$(rows "$out" 'sorted({r["step"] for r in R})')" "['0', '1', '2', '3']"
is 'the optimizer works in its phase' "$(rows "$out" '{r["phase"] for r in R if r["op"] in ("addcdiv_", "lerp_.Scalar")}')" "{'optimizer'}"
is 'gradients are computed in the backward pass' "$(rows "$out" '{r["phase"] for r in R if r["op"] == "_softmax_backward_data"} | {r["phase"] for r in R if r["op"].endswith("_backward") and r["step"] == "1"}')" "{'backward'}"
is 'one record for an operator and what is inside it' "$(rows "$out" '{r["parent"] for r in R}')" "{''}"
is 'errors' "$(rows "$out" 'len({r["seq"] for r in R if "unwound" in flags(r)}) >= 5')" True
is 'stacks name the line' "$(rows "$out" 'any(s["python_stack"].endswith("ops.py:'"$(grep -n 'torch.linalg.svd' $app | head -1 | cut -d: -f1)"' <lambda> <- '"$(realpath --relative-to=. $app)"':'"$(grep -n '    say(name, f())' $app | cut -d: -f1)"' <module>") or "<lambda>" in s["python_stack"] for s in S)')" True

with_list 'aten:\n  - "aten::*"' PROBE_MAX_OVERHEAD=0.000001% PROBE_OVERHEAD_WINDOW_MS=1
same_output 'operators that max_overhead skips'
is 'skipped: each operator is recorded or counted as skipped' "$(rows "$out" '[(c["seen"] == c["recorded"] + c["skipped"]["overhead"], len(calls(R)) == c["recorded"]) for c in [m["calls"] for m in M.values()]]')" '[(True, True)]'

with_list 'aten:\n  - aten::mm\n  - aten::add.Tensor\n  - aten::_foreach_*'
same_output 'some operators'
is 'some: these and no others' "$(rows "$out" 'sorted({r["op"] for r in R})')" "['_foreach_add.Scalar', '_foreach_mul_.Tensor', '_foreach_norm.Scalar', 'add.Tensor', 'mm']"
with_list 'functional:\n  - linear\n  - cross_entropy\ntensor:\n  - __mul__\ntorch:\n  - topk'
is "msprobe's names: the operators that they reach" "$(rows "$out" 'sorted({r["op"] for r in R})')" "['cross_entropy_loss', 'linear', 'mul.Scalar', 'mul.Tensor', 'topk']"
# Types of a byte and less, against PyTorch's own conversion to float32; those without a name have its own size.
types=$("$python" -c 'import torch
print(*[t for t in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2", "uint4", "bits16") if hasattr(torch, t)])')
printf 'aten:\n  - aten::detach\n' >"$tmp/list.yaml"
new_out
LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" "$python" tests/apps/py/small_types.py "$tmp/small" $types >"$tmp/said" 2>&1 </dev/null
is 'types of a byte and less: names, sizes and values are those of PyTorch' "$(rows "$out" '[t for t, r in zip(json.load(open("'"$tmp/small"'")), [r for r in R if r["io"] == "out"]) if (t["dtype"] if "nans" in t else "other", t["count"], t["bytes"]) != (r["dtype"], int(r["count"]), int(r["bytes"])) or "nans" in t and [t[k] for k in ("nans", "infs", "min", "max")] != [int(r["nans"]), int(r["infs"]), r["min"], r["max"]]], len([r for r in R if r["io"] == "out"])') $(wc -w <<<"$types")" "([], $(wc -w <<<"$types")) $(wc -w <<<"$types")"

new_out
run_script "$tmp/with" 0 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" $app
same_output 'nothing listed'
is 'operators are off by default' "$(ls "$out" 2>/dev/null)" ''
# The engine's own threads: as those of a GPU, which have no other mark of what they do.
app=tests/apps/py/nested_backward.py
python_plain "$tmp/plain" $app
with_list 'aten:\n  - aten::sin\n  - aten::cos\n  - aten::mul.Tensor'
same_output 'nested backward passes'
is 'nested backward passes: on several threads, and nothing but the two products is forward' \
	"$(rows "$out" 'len({r["thread"] for r in R}) > 1, Counter((r["op"], r["phase"]) for r in calls(R) if r["phase"] != "backward"), {r["phase"] for r in R if r["op"] in ("sin", "cos")}')" \
	"(True, Counter({('mul.Tensor', 'forward'): 2}), {'backward'})"

# Answers of `probe check` for operators: names and patterns of the list, and operators that are only watched.
printf 'aten:\n  - aten::mm\n  - aten::ad[d]\n' >"$tmp/list.yaml"
PROBE_WRAP_OPS="$tmp/list.yaml" timeout -k 5 100 "$probe" check --json -- "$python" -c 'import torch
a = torch.ones(2, 2, requires_grad=True)
(a.mm(a) + 1).sum().backward()' >"$tmp/check" 2>"$tmp/check.err" </dev/null
is 'check: ends well' $? 0
is 'check: listed operators are, and were called' "$(python3 -c 'import json, sys
f = [f for f in json.load(open(sys.argv[1]))["functions"] if f["lib"] == "aten"]
print({f["state"] for f in f}, sorted({f["name"] for f in f if f["hits"]}))' "$tmp/check")" \
	"{'ok'} ['at::_ops::add_Tensor::call', 'at::_ops::add_Tensor::redispatch', 'at::_ops::mm::call', 'at::_ops::mm::redispatch']"
# With a list of all operators, those that have no rows are named with the reason.
printf 'aten:\n  - aten::*\n' >"$tmp/list.yaml"
PROBE_WRAP_OPS="$tmp/list.yaml" timeout -k 5 200 "$probe" check --json -- "$python" -c 'import torch' >"$tmp/check" 2>"$tmp/check.err" </dev/null
is 'check: every entry of an operator is named, with a row or with the reason why it has none' "$(python3 -c 'import json, subprocess, sys
f = {f["name"]: f for f in json.load(open(sys.argv[1]))["functions"] if f["lib"] in ("aten", "torch") and "_ops::" in f["name"]}
names = subprocess.run(["nm", "-DC", "--defined-only", sys.argv[2]], capture_output=True, text=True).stdout
import re
want = set(re.findall(r" T (at::_ops::\w+::(?:call|redispatch))\(", names))
refused = [x for x in f.values() if x["state"] == "refused"]
print(sorted(want - set(f))[:5], all(x["note"] for x in refused), 0 < len(refused) < len(want) / 20)' "$tmp/check" \
	"$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))')/lib/libtorch_cpu.so")" '[] True True'
finish
