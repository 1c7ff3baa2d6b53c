#!/usr/bin/env bash
# model-flops-throughput-per-npu, mfu and hfu: what PyTorch's operators compute, against torch.utils.flop_counter.
# beside: does not wait busily
# timeout: 600
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'floating-point operations'
app=tests/apps/py/flops.py
train() { # SCENES [NAME=VALUE ...]
	local scenes=$1
	shift
	new_out
	env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_SCALARS=true PROBE_STEP_ANCHOR=any PROBE_PEAK_FLOPS=1e9 "$@" \
		timeout -k 5 150 "$python" $app "$scenes" >"$tmp/with" 2>"$tmp/with.err" </dev/null
	status=$?
	echo $status >"$tmp/with.status"
}
# Steps whose numbers are others than PyTorch's: FILE has `step model all`; `step -` of one that has none.
differing() {
	python3 - "$out" "$1" <<'PY'
import csv, glob, sys
have = {}
for f in glob.glob(sys.argv[1] + "/[hr]*/scalars_*.csv"):
    for r in csv.DictReader(open(f)):
        have.setdefault(int(r["step"]), {})[r["name"]] = float(r["value"])
for line in open(sys.argv[2]):
    step, model, every = line.split()
    of = have.get(int(step), {})
    ms = of.get("iteration-time")
    if not ms:
        continue  # the first
    got = [of.get(n) for n in ("model-flops-throughput-per-npu", "mfu", "hfu")]
    want = [float(model) / ms * 1e-9, float(model) / ms * 1e-6, float(every) / ms * 1e-6]
    if None in got:
        print(step, "-" if got == [None] * 3 else got)
    elif any(abs(g / w - 1) > 1e-6 for g, w in zip(got, want)):
        print(step, *(round(g * ms * f) for g, f in zip(got, (1e9, 1e6, 1e6))), "instead of", model, every)
PY
}
python_plain "$tmp/truthful" $app all "$tmp/truth"
is 'PyTorch counts' "$(wc -l <"$tmp/truth")" 20
python_plain "$tmp/plain" $app all
train all PROBE_FLOPS_INTERVAL=1
same_output 'counted in each step'
is 'each step as PyTorch counts it: products, convolutions, attention, checkpointing, penalty, autocast, optimizer' "$(differing "$tmp/truth")" ''
train all PROBE_FLOPS_INTERVAL=1 PROBE_PRESET=ops
same_output 'with operators recorded'
is 'the same where operators are recorded' "$(differing "$tmp/truth")" ''
train all PROBE_FLOPS_INTERVAL=1 PROBE_PRESET=ops PROBE_NESTED=true
is '... and those inside of others' "$(differing "$tmp/truth")" ''

# The operator that is watched in between is used by another one that counts.
if "$python" -c 'import torch; torch._grouped_mm' 2>/dev/null; then
	python_plain "$tmp/truthful" $app inside "$tmp/truth"
	python_plain "$tmp/plain" $app inside
	train inside
	same_output 'an operator inside of another one'
	is '... and by itself: each step has its number' "$(differing "$tmp/truth")" ''
fi

# 6 steps of one batch, 4 of another, 1, 3: two are counted at first, then one of three; where the batch changes one has no number.
python_plain "$tmp/truthful" $app change "$tmp/truth"
python_plain "$tmp/plain" $app change
train change PROBE_FLOPS_INTERVAL=3
same_output 'a batch that changes'
is 'a step whose shapes have changed has no number, and the next one is counted' "$(differing "$tmp/truth")" '6 -
10 -'
train change
is '... with the usual interval, too' "$(differing "$tmp/truth")" '6 -
10 -'

# The key overrides; what computes elsewhere is reported.
values() {
	cat "$out"/[hr]*/scalars_*.csv | awk -F, '$2 ~ /flops|fu$/ {print $2}' | sort | uniq -c | awk '{print $2, $1}' | paste -sd' '
}
printf 'void *PyInit_flash_attn_2_cuda(void);\nvoid *PyInit_flash_attn_2_cuda(void) { return 0; }\n' >"$tmp/own.c"
cc -shared -fPIC -o "$tmp/flash_attn_2_cuda.so" "$tmp/own.c" || fail 'a module of that name compiles'
cat >"$tmp/own.py" <<PY
import ctypes, sys
import torch
ctypes.CDLL("$tmp/flash_attn_2_cuda.so")
sys.argv[1:] = ["change"]
exec(open("$app").read())
PY
own() {
	app=$tmp/own.py train "$@"
}
own change
same_output 'a library with kernels of its own'
is '... and there is no number' "$(values)" ''
is '... and why' "$(grep -o 'model-flops[^}]*give model_flops_per_step' "$out"/[hr]*/meta.json | grep -c 'flash_attn computes in kernels of its own')" 1
is '... under the whole name of the number' "$(rows "$out" '[list(m["invisible"]) for m in M.values()]')" "[['model-flops-throughput-per-npu']]"
own change PROBE_MODEL_FLOPS_PER_STEP=1e6
is 'the key overrides what is not seen' "$(values)" 'mfu 14 model-flops-throughput-per-npu 14'
train change PROBE_MODEL_FLOPS_PER_STEP=1e6 PROBE_PEAK_FLOPS=0
is '... and without a peak there is nothing against one' "$(values)" 'model-flops-throughput-per-npu 14'
finish
