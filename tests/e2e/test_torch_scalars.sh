#!/usr/bin/env bash
# Numbers of each step (scalars_*.csv) against those that the script itself has.
# timeout: 1200
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: scalars'

one() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	env OMP_NUM_THREADS=1 "$@" timeout -k 5 150 "$python" tests/apps/py/scalars.py "$scene" "$tmp/numbers" >"$file" 2>"$file.err" </dev/null
	status=$?
	echo $status >"$file.status"
}

scene() { # SCENE NAMES
	local scene=$1
	shift
	new_out
	python_plain "$tmp/plain" tests/apps/py/scalars.py "$scene" "$tmp/numbers"
	one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_SCALARS=true
	is "$scene: ends well" "$status" 0
	same_output "$scene"
	ok "$scene: numbers as the script has them" python3 tests/e2e/scalars_truth.py "$out"/host-* "$tmp/numbers" "$@"
	contract "$scene" "$out"
}

for s in plain micro amp lbfgs gan groups; do
	scene $s
done

scene inputs loss batch-size micro-loss
is 'inputs: iteration-time and throughput of each step, the first one, too' \
	"$(rows "$out" '[[int(r["step"]) for r in V if r["name"] == n] for n in ("iteration-time", "throughput")]')" '[[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]'
is 'inputs: the first step begins no sooner than the script saw it begin, and takes time' \
	"$(rows "$out" "0 < [float(r['value']) for r in V if r['name'] == 'iteration-time'][0] <= $(awk '$2 == "first-ms" { print $3 }' "$tmp/numbers")")" True

# Of the last scene: a list of names.
scene=groups
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_SCALARS=loss,memory-rss
is 'scalars: [loss, memory-rss]: these alone' "$(rows "$out" 'sorted({r["name"] for r in V}), len(V)')" "(['loss', 'memory-rss'], 12)"
is 'memory-rss is about what a process with PyTorch has' "$(rows "$out" 'all(5e7 < float(r["value"]) < 5e9 for r in V if r["name"] == "memory-rss")')" True
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_SCALARS=true PROBE_START_STEP=2 PROBE_STEP_INTERVAL=2 \
	PROBE_MICRO_BATCH_SIZE=8 PROBE_SEQ_LENGTH=16 PROBE_GRAD_ACC_STEPS=1
is 'start_step and step_interval hold for them' "$(rows "$out" 'sorted({r["step"] for r in V})')" "['2', '4']"
is 'batch-size, throughput and tokens-per-second of the keys' "$(rows "$out" '[all(abs(a * b / c - 1) < 1e-9 for a, b, c in
	zip(*[[float(r["value"]) for r in V if r["name"] == n] for n in ("throughput", "iteration-time")], [8000] * 2)),
	{r["value"] for r in V if r["name"] == "batch-size"},
	all(abs(a / b / 16 - 1) < 1e-9 for a, b in zip(*[[float(r["value"]) for r in V if r["name"] == n]
	for n in ("tokens-per-second", "throughput")]))]')" "[True, {'8'}, True]"
new_out
one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
is 'without the key there is no file of them' "$(ls "$out" 2>/dev/null)" ''

# Derived numbers are checked by arithmetic on the others, memory by the kernel's own figures for the process.
scene=tokens
new_out
torchrun_plain 2 tests/apps/py/scalars.py tokens "$tmp/numbers"
torchrun_with 2 PROBE_SCALARS=true tests/apps/py/scalars.py tokens "$tmp/numbers"
same_output tokens
for r in 0 1; do
	ok "tokens: numbers of rank $r as the script has them" python3 tests/e2e/scalars_truth.py "$out/rank$r" "$tmp/numbers.$r" loss batch-size
done
derived() { # EXPRESSION over n, the numbers of a step of a rank; that of each step
	rows "$out" "all((lambda n: $1)({v['name']: float(v['value']) for v in V if (v['folder'], v['step']) == (d, str(k))}) for d in ('rank0', 'rank1') for k in range(6))"
}
is 'throughput: batch-size over ranks and seconds' "$(derived "abs(n['throughput'] * 2 * n['iteration-time'] / 1000 / n['batch-size'] - 1) < 1e-9")" True
is 'tokens-per-second: 12 a sample, of all ranks' "$(derived "abs(n['tokens-per-second'] * n['iteration-time'] / 1000 / n['batch-size'] - 12) < 1e-8")" True
is 'data-time, forward-time, backward-time and optimizer-time lie within the step' \
	"$(derived "0 < n['data-time'] + n['forward-time'] + n['backward-time'] + n['optimizer-time'] <= n['iteration-time']")" True
hwm=$(awk '$2 == "hwm" { print $3 }' "$tmp/numbers.0")
is 'memory-peak is the largest resident set so far, as the kernel counts it' \
	"$(rows "$out" "(lambda p: (p == sorted(p), 0.5 < p[-1] / $hwm <= 1.05))([float(v['value']) for v in V if v['folder'] == 'rank0' and v['name'] == 'memory-peak'])")" '(True, True)'
is 'what was derived of the DataLoader is reported' "$(python3 -c 'import json, sys; print(sorted(json.load(open(sys.argv[1]))["derived_scalars"]))' "$out/rank0/meta.json")" \
	"['batch-size', 'grad-norm', 'throughput', 'tokens-per-second']"
contract tokens "$out"

scene=ddp
new_out
torchrun_plain 2 tests/apps/py/scalars.py ddp "$tmp/numbers"
torchrun_with 2 PROBE_SCALARS=true tests/apps/py/scalars.py ddp "$tmp/numbers"
same_output ddp
for r in 0 1; do
	ok "ddp: numbers of rank $r as the script has them" python3 tests/e2e/scalars_truth.py "$out/rank$r" "$tmp/numbers.$r"
done
contract ddp "$out"
median() { # RANK
	rows "$out" "sorted(float(r['value']) for r in V if r['folder'] == 'rank$1' and r['name'] == 'comm-time')[2]"
}
# Rank 1 comes 100 ms late to each backward pass.
ok "ddp: comm-time is what rank 0 waits for rank 1: $(median 0) and $(median 1) ms" \
	awk -v a="$(median 0)" -v b="$(median 1)" 'BEGIN { exit !(a > 50 && a > b + 30) }'
finish
