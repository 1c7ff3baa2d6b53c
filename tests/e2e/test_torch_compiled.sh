#!/usr/bin/env bash
# A graph that torch.compile made is out of sight: meta.json and the report say so, and only then; passes of compiled autograd, and
# steps that a gradient scaler has skipped.
# timeout: 900
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
REAL_COMPILER=1
torch_python 'PyTorch: torch.compile'
# Steps that are not like others: gradients of every step against those that the program saw itself.
odd() { # SCENE
	new_out
	python_plain "$tmp/plain" tests/apps/py/odd_steps.py "$1" "$tmp/truth"
	OMP_NUM_THREADS=1 PROBE_KINDS='[grad_unreduced, actv_grad, param_updated]' PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" \
		timeout -k 5 180 "$python" tests/apps/py/odd_steps.py "$1" "$tmp/truth.with" >"$tmp/with" 2>"$tmp/with.err" </dev/null
	echo $? >"$tmp/with.status"
	same_output "$1"
}
agree() { # STEPS: rows of grad_unreduced that differ from what the program saw, and how many there are
	python3 -c 'import csv, glob, math, sys
have = {(int(r["step"]), r["name"]): r for f in glob.glob(sys.argv[1] + "/host-*/grad_unreduced_*.csv") for r in csv.DictReader(open(f))}
want = {(int(a[0]), a[1]): a[2:] for a in map(str.split, open(sys.argv[2])) if int(a[0]) in eval(sys.argv[3])}
def same(r, w):
    norm = float(w[0])
    return (r["nans"], r["infs"]) == (w[1], w[2]) and (not math.isfinite(norm) or abs(float(r["norm"]) - norm) <= 1e-6 * norm)
print([k for k in want if k not in have or not same(have[k], want[k])] + [k for k in have if k not in want], len(want))' "$out" "$tmp/truth" "$1"
}
odd skipped
is 'skipped: each step has its gradients, those that the scaler has skipped, too' "$(agree 'range(8)')" '[] 32'
is 'skipped: parameters were updated in the others' "$(python3 -c 'import csv, glob, sys
print(sorted({int(r["step"]) for f in glob.glob(sys.argv[1] + "/host-*/param_updated_*.csv") for r in csv.DictReader(open(f))}))' "$out")" '[0, 1, 4, 5, 6, 7]'
is 'skipped: nothing is reported to be invisible' "$(rows "$out" '[m.get("invisible") for m in M.values()]')" '[None]'
odd compiled
is 'compiled autograd: gradients up to there, none after' "$(agree 'range(2)')" '[] 8'
like 'compiled autograd: that is reported' "$(rows "$out" '[m.get("invisible") for m in M.values()]')" 'torch.autograd.*compiled autograd.*grad_unreduced and actv_grad'
like 'compiled autograd: the report says so' "$("$probe" report "$out" 2>&1)" 'invisible torch.autograd'

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
if grep -q 'Python.h: No such file' "$tmp/plain.err"; then
	skip 'torch.compile' "Python's headers are not installed (python3-dev)"
	finish
fi
new_out
compiled "$tmp/with" PROBE_WRAP_OPS="$tmp/ops.yaml" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib"
is 'a graph: the same with and without the preload' "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
is 'a graph: it ends well' "$(tail -2 "$tmp/with")" $'graph\nstatus 0'
is 'a graph: the operator inside is not seen, the collectives are' "$(computed)" '(0, 5)'
like 'a graph: meta.json says so' "$(rows "$out" 'M["rank0"].get("invisible")')" "'torch.compile': 'graphs were compiled: operators inside of them"
like 'a graph: the report says so among the first' "$("$probe" report "$out" 2>&1)" 'invisible torch.compile on rank 0: graphs were compiled.*TORCH_COMPILE_DISABLE=1'

new_out
compiled "$tmp/with" TORCH_COMPILE_DISABLE=1 PROBE_WRAP_OPS="$tmp/ops.yaml" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib"
is 'no graph: it ends well' "$(tail -2 "$tmp/with")" $'no graph\nstatus 0'
is 'no graph: the operator is seen' "$(computed)" '(5, 5)'
is 'no graph: nothing is invisible' "$(rows "$out" 'M["rank0"].get("invisible")')" None
unlike 'no graph: the report says nothing of it' "$("$probe" report "$out" 2>&1)" invisible
finish
