#!/usr/bin/env bash
# Where the steps of a training end: the program itself says at every call which step it should be in.
# timeout: 900
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: steps'

scene() { # NAME [NAME=VALUE ...]
	local name=$1
	shift
	new_out
	env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo RANK=0 WORLD_SIZE=1 "$@" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" timeout -k 5 200 \
		"$python" tests/apps/py/steps.py "$name" >"$tmp/said" 2>&1 </dev/null
	is "$name: ends well" "$?, $(tail -1 "$tmp/said")" "0, $name: ok"
}

# Calls in another step, or micro step, than the program intended.
wrong() {
	rows "$out" '[(int(r["count"]) - 1, r["step"], r["max"], r["micro_step"]) for r in R if r["io"] == "in" and r["dtype"] == "float64"
		if int(r["count"]) - 1 != int(r["step"]) or (r["max"] not in ("0", r["micro_step"] and str(int(r["micro_step"]) + 1)))]'
}

for s in plain accumulation gan chained in_backward closure amp zero checkpoint penalty raising; do
	scene $s
	is "$s: every call is in its step" "$(wrong)" '[]'
	is "$s: and there were some" "$(rows "$out" 'len(calls(R)) >= 3')" True
	case $s in
	amp) is "amp: the skipped steps are counted" "$(rows "$out" 'M["rank0"]["opt_skipped"]["count"]')" 2 ;;
	accumulation) is "accumulation: micro steps" "$(rows "$out" 'sorted({r["micro_step"] for r in R if r["step"] == "2"})')" "['0', '1', '2', '3', '4']" ;;
	zero) is "zero: what the optimizer sends is its own phase" "$(rows "$out" '{r["phase"] for r in R if r["op"] == "broadcast" and int(r["step"]) > 0} <= {"optimizer"}')" True ;;
	esac
done
# The distribution's PyTorch, if there is one and it is another: optimizers are marked otherwise in 1.13.
first=$python
python=/usr/bin/python3
if other=$($python -c 'import torch; print(torch.__version__)' 2>/dev/null) && [ "$other" != "$torch_version" ]; then
	for s in plain gan chained zero; do
		scene $s
		is "PyTorch $other: $s: every call is in its step" "$(wrong)" '[]'
		is "PyTorch $other: $s: and there were some, with statistics" "$(rows "$out" 'len([r for r in R if r["min"]]) >= 6')" True
	done
else
	skip "the distribution's PyTorch" 'python3-torch is not installed, or the same'
fi
python=$first
# Two optimizers of one class, also where both step from one line: a step for each pair.
for l in gan helper list remade; do
	new_out
	python_plain "$tmp/plain" tests/apps/py/pairs.py $l
	env OMP_NUM_THREADS=1 PROBE_OUTPUT_DIR="$out" PROBE_SCALARS=learning-rate LD_PRELOAD="$lib" timeout -k 5 200 "$python" tests/apps/py/pairs.py $l \
		>"$tmp/with" 2>"$tmp/with.err" </dev/null
	echo $? >"$tmp/with.status"
	same_output "pairs, $l"
	is "pairs, $l: 5 rounds are 5 steps, with the rate of each optimizer" \
		"$(rows "$out" '[(int(r["step"]), float(r["value"])) for r in V if r["name"] == "learning-rate"], {float(r["value"]) for r in V if r["name"] != "learning-rate"}')" \
		"([(0, 0.005), (1, 0.005), (2, 0.005), (3, 0.005), (4, 0.005)], $([ $l = remade ] && echo 'set()' || echo '{0.001}'))"
done
scene gan PROBE_STEP_ANCHOR=any
is 'step_anchor any: each optimizer' "$(rows "$out" '[int(r["step"]) for r in sorted(calls(R), key=lambda r: int(r["seq"]))]')" '[1, 2, 3, 4, 5, 6]'
scene gan PROBE_STEP_ANCHOR=1
is 'step_anchor 1: the second, from its first step on' "$(rows "$out" '[int(r["step"]) for r in sorted(calls(R), key=lambda r: int(r["seq"]))]')" '[1, 2, 2, 3, 3, 4]'
finish
