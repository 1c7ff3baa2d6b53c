#!/usr/bin/env bash
# The configurations that MindSpore Transformers' manual shows, in front of a DDP training that knows of no monitor: event folders, log
# lines, health_ckpts.json as that tool writes them, a spiked step withheld. The tables of what is expected were read from what
# 2.1.0 wrote itself.
# beside: does not wait busily
# timeout: 600
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'configurations as a manual shows them'
app=$PWD/tests/apps/py/manual.py

# Both ranks in $tmp/run: MODE [NAME=VALUE ...], config.yaml beside them
train() {
	local mode=$1
	shift
	rm -rf "$tmp/run/output" "$tmp/run/worker" "$tmp/run/ckpt"
	(cd "$tmp/run" && env OMP_NUM_THREADS=1 "$@" timeout -k 5 150 "$python" -m torch.distributed.run --nproc_per_node=2 "$app" ckpt "$tmp/truth" \
		$mode >"$tmp/$file" 2>"$tmp/$file.err" </dev/null)
	echo $? >"$tmp/$file.status"
}
with() { # MODE [NAME=VALUE ...]
	file=with train "$@" LD_PRELOAD="$lib" PROBE_CONFIG=config.yaml
}
events() { # RANK EXPRESSION
	python3 tests/e2e/tfevents.py "$tmp/run/worker/tensorboard/rank_$1" "$2"
}
training_metrics() { # VALUE of the three keys that the manual's example leaves out
	cat <<YAML
seed: 0
output_dir: './output'

monitor_config:
    monitor_on: True
    dump_path: './dump'
    target: ['layers.0', 'layers.1'] # only the first two layers
    invert: False
    step_interval: 1
    local_loss_format: ['log', 'tensorboard']
    local_norm_format: ['log', 'tensorboard']
    device_local_norm_format: ['log', 'tensorboard']
    optimizer_state_format: $1
    weight_state_format: $1
    throughput_baseline: $2
    print_struct: False

tensorboard:
    tensorboard_dir: 'worker/tensorboard'
    tensorboard_queue_size: 10
    log_loss_scale_to_tensorboard: True
    log_timers_to_tensorboard: True

callbacks:
    - type: MFLossMonitor
      per_print_times: 1
YAML
}
names="sorted({t.replace('_vs_samples', '+').split('/')[0] for t in S})"

mkdir "$tmp/run"
file=plain train ''
training_metrics null null >"$tmp/run/config.yaml"
with ''
same_output 'metrics'
for r in 0 1; do
	is "metrics, rank $r: the scalars that the keys switch on, and no others" "$(events $r "' '.join($names)")" \
		'B-samples-per-day batch-size batch-size+ device_local_norm grad-norm grad-norm+ iteration-time iteration-time+ learning-rate learning-rate+ local_lm_loss local_norm loss loss+ loss-scale loss-scale+ model-flops-throughput-per-npu throughput throughput+'
done
is 'metrics: targets' "$(events 0 "sorted({t.split('/')[1].rsplit('.', 2)[0] for t in S if t.startswith('local_norm/')})")" "['layers.0', 'layers.1']"
is 'metrics: x counts from 1, of the others samples of all ranks' "$(events 0 "[x for x, _ in S['loss']], [x for x, _ in S['loss_vs_samples']], {v for _, v in S['batch-size']}")" \
	'([1, 2, 3, 4, 5, 6], [8, 16, 24, 32, 40, 48], {8.0})'
is 'metrics: TEXT has each key of the file' "$(events 0 "sorted(T), T['seed/text_summary'], T['callbacks/text_summary'], T['monitor_config/text_summary'][:77]")" \
	"(['callbacks/text_summary', 'monitor_config/text_summary', 'output_dir/text_summary', 'seed/text_summary', 'tensorboard/text_summary'], '0', \"[{'type': 'MFLossMonitor', 'per_print_times': 1}]\", \"{'monitor_on': True, 'dump_path': './dump', 'target': ['layers.0', 'layers.1'\")"

# A profiler's window: operators with shapes and stacks, and collectives, in its steps and on its rank alone; the numbers go on.
{
	training_metrics null null
	cat <<YAML
profile: True
profile_start_step: 3
profile_stop_step: 4
profile_communication: True
profiler_level: 0
profile_rank_ids: [1]
YAML
} >"$tmp/run/config.yaml"
with ''
same_output 'profile'
is 'profile: calls of two steps of one rank' "$(rows "$tmp/run/output" 'sorted({(r["folder"], r["step"]) for r in R})')" "[('rank1', '2'), ('rank1', '3')]"
is 'profile: operators with shapes, collectives, stacks, no statistics' \
	"$(rows "$tmp/run/output" '{r["lib"] for r in R} == {"aten", "c10d"}, sum(r["op"].startswith("mm") and r["shape"] != "" for r in R) > 8, {bool(r["stack_id"]) for r in R}, {r["min"] for r in R}')" \
	"(True, True, {True}, {''})"
for r in 0 1; do
	is "profile, rank $r: the loss of each step" "$(events $r "[x for x, _ in S['loss']]")" '[1, 2, 3, 4, 5, 6]'
done
is 'profile: what is written of it' "$("$probe" export --format insight "$tmp/run/output" 2>&1 | sed 's/.*: steps/steps/; s/, [0-9,]* calls.*//'; cd "$tmp/run/output/profile" && ls -d */*)" \
	'steps 2-3, rank 1
rank_1/rank1_ascend_pt'
"$probe" export --format trace -o "$tmp/window.json" "$tmp/run/output" >/dev/null 2>&1
is 'profile: steps, ranks, memory of its trace' "$(python3 -c '
import json, sys
e = json.load(open(sys.argv[1]))["traceEvents"]
print({x["args"]["step"] for x in e if x.get("cat") == "cpu_op"}, {x["pid"] for x in e if x.get("cat") == "cpu_op"},
      [(x["args"]["step"], x["args"]["bytes"] > 1e7) for x in e if x["name"] == "resident set"], any("called from" in x.get("args", {}) for x in e))' "$tmp/window.json")" \
	'{2, 3} {1} [(2, True), (3, True)] True'

# All sixteen, with the health of checkpoints; the lines have the form of 2.1.0's, compared without its numbers.
{
	training_metrics "['log', 'tensorboard']" 10
	cat <<YAML
    - type: CheckpointMonitor
      save_checkpoint_steps: 1
      embedding_local_norm_threshold: 270.0
use_checkpoint_health_monitor : True
runner_wrapper:
    local_norm: True
parallel:
    full_batch: False
    dataset_strategy: [[4, 1], [4, 1]]
YAML
} >"$tmp/run/config.yaml"
file=plain train spike
with spike
same_output 'sixteen and health'
is 'sixteen: their names' "$(events 0 "len({t.replace('_vs_samples', '').split('/')[0] for t in S} - {'embedding_local_norm'}), sorted({t.split('/')[0] for t in S if t.startswith(('adam', 'weight', 'throughput_'))})")" \
	"(16, ['adam_m_norm', 'adam_v_norm', 'throughput_linearity', 'throughput_vs_samples', 'weight_norm'])"
is 'sixteen: what the script knows itself, each step' "$(events 0 "D('$tmp/truth')")" '[]'
cat >"$tmp/lines" <<'PATTERNS'
\{ Epoch:\[  1/  1\], step:\[    [1-6]/    0\], loss: [0-9]+\.[0-9]{6}, per_step_time: [0-9]+ms, lr: [0-9.e-]+, overflow cond: (False|True), loss_scale: 8\.0, global_norm: \[[0-9.e+]+\](, train_throughput_per_npu: [0-9]+\.[0-9]{3}T)?
 {2,4}[0-9]+\.[0-9]% \|.{50}\| [0-9]+\.[0-9]{5} samples/s/p  0:00:00 \}
Epoch:\[  1/  1\], step:\[    [1-6]/    0\] (local_norm|adam_m_norm|adam_v_norm)/[a-z0-9_.]+: [0-9.e-]+
Epoch:\[  1/  1\], step:\[    [1-6]/    0\] (device_local_norm|weight_norm|micro_local_lm_loss|throughput_linearity): [0-9.e-]+
embedding_local_norm: [0-9.e+-]+
PATTERNS
is 'sixteen: no line of another form' "$(grep -vxE -f "$tmp/lines" "$tmp/run/output/rank0/monitor.log" | head -3)" ''
is 'sixteen: and each of them, as often' "$(while IFS= read -r l; do grep -cxE -- "$l" "$tmp/run/output/rank0/monitor.log"; done <"$tmp/lines" | tr '\n' ' ')" \
	"6 6 216 24 6 "
is 'health: entries in that form, in order, by the file'"'"'s threshold' "$(cat "$tmp/run/output/health_ckpts.json")" "$(python3 -c 'import json
print(json.dumps([{"is_health": int(n in (3, 4)), "ckpt_name": f"tiny_rank_0-1_{n}.ckpt"} for n in range(1, 7)], indent=4))')"
is 'health: probe ckpt finds the newest healthy one' "$("$probe" ckpt "$tmp/run/output" --latest-healthy)" "$tmp/run/ckpt/tiny_rank_0-1_6.ckpt"

# A spike: withheld once, then the end; until there the training is that of a script that leaves the update out itself.
{
	training_metrics null null | sed '/^monitor_config/,/print_struct/d'
	cat <<YAML
use_skip_data_by_global_norm: True
monitor_config:
    monitor_on: True
    check_for_global_norm: False
    global_norm_spike_threshold: 3.0
    global_norm_spike_count_threshold: 2
YAML
} >"$tmp/run/config.yaml"
file=plain train spike SKIP=1
with spike
is 'spike: weights as those of a script that skips the step itself' "$(grep '^step' "$tmp/with")" "$(grep '^step [012] ' "$tmp/plain")"
is 'spike: the count ends both ranks' "$(grep -oE '^\[[01]\] ValueError: .*' "$tmp/with" | sed 's/norm \[[0-9.]*\]/norm [N]/' | sort)" \
	"$(for r in 0 1; do echo "[$r] ValueError: Current global norm [N] of step 4 has been 2 consecutive times greater than threshold 3.0, stop training..."; done)"
is 'spike: the lines of the log' "$(sed -n '/is_skip/,$p' "$tmp/run/output/rank0/monitor.log" | grep -v 'samples/s/p\|Epoch' | sed 's/norm \[[0-9.]*\]/norm [N]/')" \
	"opt_global_step: 2, skip_data_grad_norm_threshold: 3.0, is_skip: [ True]
Current global norm [N] of step 3 has been 1 consecutive times greater than threshold: 3.0
opt_global_step: 2, skip_data_grad_norm_threshold: 3.0, is_skip: [ True]"
log_lines() { # RANK
	sed -n "s/^libprobe: rank $1: - INFO - //p" "$tmp/with.err" | grep -e is_skip -e 'Current global norm' | sed 's/norm \[[0-9.]*\]/norm [N]/'
}
for r in 0 1; do
	is "spike: the lines of the log are in the job's log, rank $r" "$(log_lines $r)" \
		"$(sed -n '/is_skip/,$p' "$tmp/run/output/rank$r/monitor.log" | grep -v 'samples/s/p\|Epoch' | sed 's/norm \[[0-9.]*\]/norm [N]/')"
done

# The manual's own example: the first two steps of a training spike, and the second one ends it.
file=plain train first SKIP=1
with first
is 'first steps: neither changes a weight' "$(grep '^step' "$tmp/with")" "$(grep '^step 0 ' "$tmp/plain")"
is 'first steps: the second one ends both ranks' "$(grep -oE '^\[[01]\] ValueError: .*' "$tmp/with" | sed 's/norm \[[0-9.]*\]/norm [N]/' | sort)" \
	"$(for r in 0 1; do echo "[$r] ValueError: Current global norm [N] of step 2 has been 2 consecutive times greater than threshold 3.0, stop training..."; done)"
is "first steps: the lines as the manual prints them" "$(log_lines 0)" \
	"opt_global_step: 0, skip_data_grad_norm_threshold: 3.0, is_skip: [ True]
Current global norm [N] of step 1 has been 1 consecutive times greater than threshold: 3.0
opt_global_step: 0, skip_data_grad_norm_threshold: 3.0, is_skip: [ True]"

# The dialect of that tool's PyNative trainer.
cat >"$tmp/run/config.yaml" <<'YAML'
monitor:
    train_state: {local_norm: [layers.0], local_loss: True, device_norm: layers.0}
    tensorboard: {output_dir: worker/tensorboard, log_interval: 1, queue_size: 10}
    health_checkpoint: {embedding_local_norm_threshold: 1.0}
training: {steps: 6, local_batch_size: 4, use_skip_step_on_nan: True, max_consecutive_skipped_steps: 2}
profiler: {enable_profiling: True, start_step: 2, end_step: 3, profiler_rank: [1], profiler_level: 1}
YAML
file=plain train nan SKIP=1
with nan
is 'pynative: steps that are not finite are withheld: weights as those of a script that skips them itself' "$(grep '^step' "$tmp/with")" "$(grep '^step [012] ' "$tmp/plain")"
is 'pynative: the number of steps in a row ends both ranks' "$(grep '^\[' "$tmp/with" | sort)" \
	"$(for r in 0 1; do echo "[$r] ValueError: Current global norm [nan] of step 4 has been 2 consecutive times not finite, stop training..."; done)"
for r in 0 1; do
	is "pynative, rank $r: norms of the layer that is asked for and the loss, each step, in the log and on stderr" \
		"$(grep -oE '(local_norm/[a-z0-9.]*|micro_local_lm_loss): ' "$tmp/run/output/rank$r/monitor.log" | sed 's/[a-z]*\.[a-z]*: /X/' | sort | uniq -c | tr -s ' \n' ' ')$(sed -n "s/^libprobe: rank $r: - INFO - //p" "$tmp/with.err" | cmp - "$tmp/run/output/rank$r/monitor.log")" \
		' 24 local_norm/layers.0.X 4 micro_local_lm_loss: '
done
is 'pynative: a window of two steps of one rank' "$(rows "$tmp/run/output" 'sorted({(r["folder"], r["step"]) for r in R})')" "[('rank1', '1'), ('rank1', '2')]"
is 'pynative: event files of the last rank' "$(events 1 "[x for x, _ in S['loss']], {v for _, v in S['batch-size']}")" '([1, 2, 3, 4], {8.0})'
is 'pynative: checkpoints after finite gradients are healthy' \
	"$(python3 -c 'import json, sys; print([(e["ckpt_name"], e["is_health"]) for e in json.load(open(sys.argv[1]))])' "$tmp/run/output/health_ckpts.json")" \
	"[('tiny_rank_0-1_1.ckpt', 0), ('tiny_rank_0-1_2.ckpt', 0), ('tiny_rank_0-1_3.ckpt', 1)]"
finish
