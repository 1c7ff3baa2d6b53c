#!/usr/bin/env bash
# A graph that torch.compile made is out of sight: meta.json and the report say so, and only then.
# timeout: 420
# beside: nothing of it waits busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: torch.compile'
command -v c++ >/dev/null || { skip 'torch.compile' 'no C++ compiler'; finish; }
printf 'aten:\n  - aten::sin\nc10d:\n  - "c10d::*"\n' >"$tmp/ops.yaml"

compiled() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo TORCHINDUCTOR_CACHE_DIR="$tmp/inductor" TORCHINDUCTOR_COMPILE_THREADS=1 \
		"$@" timeout -k 5 180 "$python" tests/apps/py/compiled.py 5 >"$file" 2>"$file.err" </dev/null
	echo "status $?" >>"$file"
}

# Operators that computed something: while a graph is traced they are called as well, with tensors that hold nothing.
computed() {
	rows "$out" 'len([r for r in calls([r for r in R if r["op"] == "sin"]) if r["min"]]), len(calls([r for r in R if r["op"] == "all_reduce"]))'
}

compiled "$tmp/plain"
new_out
compiled "$tmp/with" PROBE_WRAP_OPS="$tmp/ops.yaml" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib"
is 'a graph: the same with and without the preload' "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
is 'a graph: it ends well' "$(tail -2 "$tmp/with")" $'graph\nstatus 0'
is 'a graph: the operator inside is not seen, the collectives are' "$(computed)" '(0, 5)'
like 'a graph: meta.json says so' "$(rows "$out" 'M["rank0"].get("invisible")')" "'torch.compile': 'graphs were compiled: operators inside of them"
like 'a graph: the report says so among the first' "$("$probe" report "$out" 2>&1)" 'What stands out invisible torch.compile on rank 0: graphs were compiled.*TORCH_COMPILE_DISABLE=1'

new_out
compiled "$tmp/with" TORCH_COMPILE_DISABLE=1 PROBE_WRAP_OPS="$tmp/ops.yaml" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib"
is 'no graph: it ends well' "$(tail -2 "$tmp/with")" $'no graph\nstatus 0'
is 'no graph: the operator is seen' "$(computed)" '(5, 5)'
is 'no graph: nothing is invisible' "$(rows "$out" 'M["rank0"].get("invisible")')" None
unlike 'no graph: the report says nothing of it' "$("$probe" report "$out" 2>&1)" invisible
finish
