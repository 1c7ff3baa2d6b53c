#!/usr/bin/env bash
# Parameters, gradients, optimizer states, activations, losses and norms of a PyTorch training on a device, against what the
# training computes from copies of its own. On a stand-in for CUDA's driver (its kernel's form in C), for which PyTorch itself
# gets tensors of type `cuda` by an extension that this test compiles. The job waits for the device; libprobe never does.
# timeout: 600
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
LONG=1 torch_python 'a training on a device'
. tests/e2e/torch_device.sh
torch_device 'a training on a device'
device=$extensions/torch_device.so
kinds=(param_origin param_updated grad_unreduced grad_reduced exp_avg exp_avg_sq actv actv_grad)
all=$(IFS=,; echo "${kinds[*]}")

scene() { # NAME [NAME=VALUE ...]; what it prints is in $tmp/with, what it computed itself in $tmp/truth
	local name=$1 vars=(LD_LIBRARY_PATH="$B/doubles" OMP_NUM_THREADS=1 RANK=0 WORLD_SIZE=1) plain=$tmp/plain.$1 text="$1${2:+, ${*:2}}"
	shift
	new_out
	mkdir -p "$plain" "$tmp/truth"
	[ -e "$plain/printed" ] ||
		env "${vars[@]}" "$python" tests/apps/torch_device.py "$device" "$plain" "$name" >"$plain/printed" 2>"$tmp/plain.err"
	env "${vars[@]}" PROBE_PRESET=state PROBE_KINDS="$all" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@" \
		"$python" tests/apps/torch_device.py "$device" "$tmp/truth" "$name" >"$tmp/with" 2>"$tmp/with.err"
	is "$text: ends without an error" "$? $(grep -c Error "$tmp/with.err")" '0 0'
	# With copies, the driver is asked whether they have arrived; it counts that too.
	case $* in
	*copy*) ok "$text: prints the same" diff <(grep -v waits "$plain/printed") <(grep -v waits "$tmp/with") ;;
	*) ok "$text: prints the same, and after the first step the driver counts no wait but the job's own" diff "$plain/printed" "$tmp/with" ;;
	esac
	ok "$text: trained as without us" cmp "$plain/rank0.json" "$tmp/truth/rank0.json"
}

kinds_are() { # TEXT KIND ...
	ok "$1" python3 tests/e2e/kinds_truth.py "$out" "$tmp/truth" "${@:2}"
}

scalars_are() { # TEXT SCALAR ...
	ok "$1" python3 tests/e2e/scalars_printed.py "$tmp/with" "$out/rank0/scalars_0-99.csv" "${@:2}"
}

scene clip
kinds_are 'clip: every kind of every step' "${kinds[@]}"
scalars_are 'clip: loss and norm' loss grad-norm
is 'clip: nothing is dropped' "$(rows "$out" 'M["rank0"]["calls"]["dropped"]["device_values"], M["rank0"]["calls"]["dropped"]["training_values"]')" '(0, 0)'

scene late TORCH_DEVICE_STREAM=1
kinds_are 'late: values that arrive after their step' "${kinds[@]}"
scalars_are 'late: the loss' loss
is 'late: a loss has the time at which its step ended, before the times of its parts were written' "$(python3 - "$out" <<-'PY'
	import csv, sys
	rows = csv.DictReader(open(sys.argv[1] + "/rank0/scalars_0-99.csv"))
	at = {(r["name"], r["step"]): int(r["wall_ns"]) for r in rows}
	print([s for n, s in at if n == "loss" and at[n, s] > at["iteration-time", s]], sum(n == "loss" for n, s in at))
PY
)" '[] 6'

scene accumulate TORCH_DEVICE_STREAM=1
kinds_are 'accumulate: every kind, on a stream of its own' "${kinds[@]}"
scalars_are 'accumulate: the loss is that before its division' loss

scene sgd PROBE_STEP_COUNT_PER_RECORD=2 PROBE_METRICS=true
kinds_are 'blocks of two steps: each value is in the file of its step' param_origin param_updated grad_unreduced grad_reduced
cat "$out"/rank0/scalars_*.csv | awk '!header[$0]++' >"$out/rank0/scalars_0-99.csv"
scalars_are 'metrics: the norm of all weights' weight_norm

scene closure
kinds_are 'closure: the pass inside of the step counts' "${kinds[@]}"
scalars_are 'closure: loss' loss

scene amp
kinds_are 'gradient scaler: gradients are those that the step takes' param_origin param_updated grad_reduced exp_avg exp_avg_sq
scalars_are 'gradient scaler: loss without the scale' loss
is 'gradient scaler: its scale' "$(awk -F, '$2 == "loss-scale" {print $3}' "$out/rank0/scalars_0-99.csv" | sort -u)" 1024

scene sgd
kinds_are 'sgd: its momentum' param_origin param_updated grad_unreduced grad_reduced momentum_buffer

scene clip PROBE_DEVICE=copy
kinds_are 'copies in place of the kernel: the same' "${kinds[@]}"
scalars_are 'copies in place of the kernel: loss and norm' loss grad-norm

# Without values nothing is 0 or guessed.
scene clip PROBE_DEVICE=off
is 'device: off: rows without values' "$(python3 - "$out" <<-'PY'
	import csv, sys
	r = list(csv.DictReader(open(sys.argv[1] + "/rank0/param_origin_0-99.csv")))
	print(len(r), {x["min"] for x in r})
PY
)" "24 {'nan'}"
is 'device: off: no loss, no norm' "$(grep -cE 'loss|norm' "$out/rank0/scalars_0-99.csv")" 0

scene clip DOUBLE_LOSE_AT=40
is 'a launch that the driver refuses: values before it stay, later ones are unknown' "$(python3 - "$out" <<-'PY'
	import csv, sys
	r = list(csv.DictReader(open(sys.argv[1] + "/rank0/param_updated_0-99.csv")))
	print(len(r), r[0]["min"] != "nan", r[-1]["min"])
PY
)" '24 True nan'
finish
