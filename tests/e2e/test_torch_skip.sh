#!/usr/bin/env bash
# Steps that are withheld because their global norm spikes (key use_skip_data_by_global_norm), against the same script that leaves
# them out itself; and those that must not be withheld, against the script as it is.
# long: optimizers without clipping, each reason to refuse, scalers of fused optimizers, gradients that are not reduced
# timeout: 900
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: withheld steps'

app=tests/apps/py/skipped.py
# Under the preload into $out: FILE CASE [NAME=VALUE ...]
one() {
	local file=$1 what=$2
	shift 2
	env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" RANK=0 WORLD_SIZE=1 "$@" timeout -k 5 200 "$python" $app "$what" >"$file" 2>"$file.err" </dev/null
	status=$?
	echo $status >"$file.status"
}
on=PROBE_USE_SKIP_DATA_BY_GLOBAL_NORM=true

# Entries of meta.json, the scalars and the alerts: state, withheld steps with their counts, spikes.
cat >"$tmp/said.py" <<'PY'
import csv, glob, json, os, sys
d = sys.argv[1]
meta = json.load(open(d + "/meta.json")).get("skip_on_spike")
steps = {}
for f in glob.glob(d + "/scalars_*.csv"):
    for r in csv.DictReader(open(f)):
        if r["name"] == "withheld-steps":
            steps[int(r["step"])] = int(float(r["value"]))
alerts = [json.loads(l) for l in open(d + "/alerts.jsonl")] if os.path.exists(d + "/alerts.jsonl") else []
print(meta and (meta["state"], meta["withheld"], meta["last_step"]), steps, sum(a["count"] for a in alerts if a["rule"] == "spike"))
PY
said() {
	python3 "$tmp/said.py" "$out/rank${1:-0}"
}
why() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["skip_on_spike"]["why"])' "$out/rank${1:-0}/meta.json"
}

# Off: nothing of the run changes, and nothing is reported about it.
new_out
python_plain "$tmp/plain" $app counting
one "$tmp/with" counting PROBE_SCALARS=true
same_output 'off'
is 'off: nothing is reported about it' "$(said)" 'None {} 0'

# Each optimizer in each of its forms, clipped and not.
for c in clipped ${LONG:+unclipped}; do
	new_out
	python_plain "$tmp/plain" WHO=script $app $c
	one "$tmp/with" $c $on PROBE_GLOBAL_NORM_SPIKE_COUNT_THRESHOLD=100
	same_output "$c: $(wc -l <"$tmp/plain") trainings with $(cut -d' ' -f1 "$tmp/plain" | sort -u | wc -l) optimizers"
	ok "$c: these are many" test "$(wc -l <"$tmp/plain")" -ge 35
	is "$c: each could be withheld" "$(why)" ''
done
contract 'withheld steps' "$out"

# An optimizer that counts in its group; a gradient that is not finite; the first step withheld.
for c in counting not_finite ${LONG:+first failing}; do
	new_out
	python_plain "$tmp/plain" WHO=script $app $c
	one "$tmp/with" $c $on
	same_output "$c"
	said >"$tmp/said.$c"
done
is 'counting: steps and counts' "$(cat "$tmp/said.counting")" "('on', 3, 5) {1: 1, 4: 1, 5: 2} 3"
is 'not finite: counted too' "$(cat "$tmp/said.not_finite")" "('on', 3, 5) {2: 1, 3: 2, 5: 1} 3"
[ -z "${LONG:-}" ] || is 'the first step' "$(cat "$tmp/said.first")" "('on', 2, 1) {0: 1, 1: 2} 2"

# A gradient scaler: what it leaves out itself neither counts nor clears.
for c in scaler ${LONG:+scaler_fused}; do
	new_out
	python_plain "$tmp/plain" WHO=script $app $c
	one "$tmp/with" $c $on
	same_output "$c"
	is "$c: steps and counts" "$(said)" "('on', 3, 6) {2: 1, 4: 2, 6: 1} 4"
done

# Must not be withheld: the run is the same as without the key, and each spike is an alert.
refused() { # CASE WHY; a spike that is not withheld makes others
	new_out
	python_plain "$tmp/plain" $app "$1"
	one "$tmp/with" "$1" $on
	same_output "$1"
	like "$1: refused, and alerts instead" "$(said)" "^\('refused', 0, None\) \{\} [1-9]"
	like "$1: why" "$(why)" "$2"
	like "$1: one line" "$(cat "$tmp/with.err")" 'no step is withheld'
}
refused pre_hook 'hooks of step'
refused closure 'closure'
if [ -n "${LONG:-}" ]; then
	refused post_hook 'hooks of step'
	refused global_hook 'hooks of step'
	refused in_backward 'inside a backward pass'
	refused two 'several optimizers'
	refused scaler_no_unscale 'loss scale'
	new_out
	one "$tmp/with" late_hook $on
	like 'a hook that comes later: from then on' "$(said) $(why)" "^\('refused', 1, 1\) \{1: 1\} [1-9].* hooks of step"
	new_out
	python_plain "$tmp/plain" $app compiled
	one "$tmp/with" compiled $on
	same_output 'a compiled step'
	like 'a compiled step: what is known of it' "$(said) $(why)" 'no step of an optimizer has been seen|step\(\) is compiled'
	new_out
	one "$tmp/with" stubborn $on
	like 'an optimizer that steps without gradients: once' "$(said) $(why)" "^\('refused', 1, 1\) \{1: 1\} [1-9].* a step without gradients changed"
fi

# The end of the job.
new_out
one "$tmp/with" limit $on PROBE_GLOBAL_NORM_SPIKE_COUNT_THRESHOLD=3 PROBE_MONITOR_LOG='[loss]'
line=$(grep -o "Current global norm \[[0-9.]*\] of step 6 has been 3 consecutive times greater than threshold 3.0, stop training\.\.\." "$tmp/with" | head -1)
like 'the limit: ValueError' "$(cat "$tmp/with")" '^ValueError True Current global norm .* step 6 has been 3 consecutive'
is '... with the line as its argument' "$(cat "$tmp/with")" "ValueError True $line ('$line',)"
is 'monitor.log: the lines' "$(grep -A1 is_skip "$out/rank0/monitor.log" | grep -v -- -- | sed 's/norm \[[0-9.]*\]/norm [N]/')" \
	"opt_global_step: 1, skip_data_grad_norm_threshold: 3.0, is_skip: [ True]
Current global norm [N] of step 2 has been 1 consecutive times greater than threshold: 3.0
opt_global_step: 2, skip_data_grad_norm_threshold: 3.0, is_skip: [ True]
Current global norm [N] of step 4 has been 1 consecutive times greater than threshold: 3.0
opt_global_step: 2, skip_data_grad_norm_threshold: 3.0, is_skip: [ True]
Current global norm [N] of step 5 has been 2 consecutive times greater than threshold: 3.0
opt_global_step: 2, skip_data_grad_norm_threshold: 3.0, is_skip: [ True]"
ok '... after those of the loss' grep -B2 -m1 is_skip "$out/rank0/monitor.log" -q
if [ -n "${LONG:-}" ]; then
	new_out
	one "$tmp/with" limit_uncaught $on PROBE_GLOBAL_NORM_SPIKE_COUNT_THRESHOLD=2
	is 'the limit: the job ends by it' "$(cat "$tmp/with.status") $(grep '^ValueError' "$tmp/with.err" | sed 's/\[.*\]/[N]/')" \
		'1 ValueError: Current global norm [N] of step 4 has been 2 consecutive times greater than threshold 3.0, stop training...'
	new_out
	one "$tmp/with" limit $on PROBE_GLOBAL_NORM_SPIKE_COUNT_THRESHOLD=0
	is 'limit 0: never' "$(cat "$tmp/with")" 'not ended'
fi

# Several ranks.
for c in ddp fsdp2 ${LONG:+ddp_own}; do
	new_out
	torchrun_plain 2 WHO=script $app $c
	torchrun_with 2 $on $app $c
	same_output "$c"
	is "$c: on both ranks" "$(said 0) $(said 1)" "('on', 2, 3) {2: 1, 3: 2} 2 ('on', 2, 3) {2: 1, 3: 2} 2"
done
for c in ddp_first fsdp2_first; do
	new_out
	torchrun_plain 2 WHO=script $app $c
	torchrun_with 2 $on $app $c
	same_output "$c: the first step of the training is withheld on both ranks"
	is "$c: steps and counts" "$(said 0) $(said 1)" "('on', 3, 4) {0: 1, 1: 2, 4: 1} 3 ('on', 3, 4) {0: 1, 1: 2, 4: 1} 3"
done
new_out
torchrun_plain 2 $app ddp_odd_first
torchrun_with 2 $on $app ddp_odd_first
same_output 'one rank cannot, and the first step spikes: no rank withholds it'
new_out
torchrun_plain 2 $app ddp_odd
torchrun_with 2 $on $app ddp_odd
same_output 'one rank cannot'
like 'one rank cannot: none does' "$(why 0) $(why 1)" 'rank 1 has not said .* hooks of step'
new_out
torchrun_plain 2 WHO=script $app ddp_late
torchrun_with 2 $on $app ddp_late
same_output 'one rank no longer can'
like 'one rank no longer can: nor does the other' "$(said 0) $(why 0)" "^\('refused', 2, 2\) \{1: 1, 2: 2\} 3 rank 1 has not said"
if [ -n "${LONG:-}" ]; then
	new_out
	torchrun_plain 2 $app ddp_alone
	torchrun_with 2 $on $app ddp_alone
	same_output 'gradients that are not reduced'
	like 'gradients that are not reduced: refused' "$(why 0)" 'not all gradients were seen to be reduced over all ranks'
fi

# Only noted.
new_out
mkdir -p "$out"
echo '{"5": [7.5], "900": [4.0]}' >"$out/abnormal_global_norm.json"
python_plain "$tmp/plain" $app counting
one "$tmp/with" counting PROBE_CHECK_FOR_GLOBAL_NORM=true
same_output 'check_for_global_norm'
is 'abnormal_global_norm.json: what was there, and the steps' "$(python3 -c '
import csv, json, sys
d = json.load(open(sys.argv[1]))
want = {str(int(r["step"]) + 1): float(r["value"]) for r in csv.DictReader(open(sys.argv[2])) if r["name"] == "grad-norm" and not float(r["value"]) < 3}
print(d.pop("900"), d["5"].pop(0), len(want) >= 3, {k: len(v) for k, v in d.items()} == {k: 1 for k in want}, all(abs(d[k][0] / v - 1) < 1e-6 for k, v in want.items()))' \
	"$out/abnormal_global_norm.json" "$out/rank0/scalars_0-99.csv")" '[4.0] 7.5 True True True'
like '... and alerts' "$(said)" '^None \{\} [3-9]'

# Keys that contradict each other, also in a training's own file.
env $on PROBE_CHECK_FOR_GLOBAL_NORM=true "$probe" config >"$tmp/o" 2>"$tmp/e"
like 'a contradiction is reported' "$(cat "$tmp/e")" 'contradicts check_for_global_norm'
like '... and nothing is withheld' "$(cat "$tmp/o")" 'use_skip_data_by_global_norm: false'
new_out
cat >"$tmp/train.yaml" <<Y
use_skip_data_by_global_norm: True
monitor_config:
    monitor_on: True
    check_for_global_norm: False
    global_norm_spike_threshold: 3.0
    global_norm_spike_count_threshold: 3
callbacks:
  - type: MFLossMonitor
output_dir: $out
Y
one "$tmp/with" limit PROBE_CONFIG="$tmp/train.yaml"
like "a training's own file" "$(cat "$tmp/with")" 'step 6 has been 3 consecutive times'
if [ -n "${LONG:-}" ]; then
	sed -i 's/monitor_on: True/monitor_on: False/' "$tmp/train.yaml"
	new_out
	one "$tmp/with" limit PROBE_CONFIG="$tmp/train.yaml"
	is 'monitor_on: False: never ended' "$(cat "$tmp/with")" 'not ended'
	like '... which is reported' "$(cat "$tmp/with.err")" 'monitor_on: False'
fi
finish
