#!/usr/bin/env bash
# Metrics of a training (key metrics) in event files and CSV files, against what the script itself computes.
# beside: does not wait busily
# timeout: 600
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'metrics of a training'
new_out
python_plain "$tmp/plain" tests/apps/py/metrics.py "$tmp/truth"
train() { # [NAME=VALUE ...]
	env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_FORMAT=csv,tensorboard "$@" timeout -k 5 150 "$python" \
		tests/apps/py/metrics.py "$tmp/truth" ${metrics_args:-} >"$tmp/with" 2>"$tmp/with.err" </dev/null
	status=$?
	echo $status >"$tmp/with.status"
}
train PROBE_METRICS=true PROBE_MICRO_BATCH_SIZE=4 PROBE_SCALARS=throughput,B-samples-per-day,throughput_linearity,model-flops-throughput-per-npu,mfu \
	PROBE_THROUGHPUT_BASELINE=100 PROBE_MODEL_FLOPS_PER_STEP=2e9 PROBE_PEAK_FLOPS=1e12
same_output metrics
tb=$out/tensorboard/rank_0
events() {
	python3 tests/e2e/tfevents.py "$@"
}
is 'each norm and loss as the script has it, x = step + 1' "$(events "$tb" "D('$tmp/truth')")" '[]'
is 'no kind that was only measured has a file' "$(cd "$out"/[hr]*/ && echo *norm_0-99.csv grad* param*)" 'adam_m_norm_0-99.csv adam_v_norm_0-99.csv local_norm_0-99.csv grad* param*'
is 'rates follow from throughput' "$(events "$tb" "[all(abs(a / b - 1) < 1e-5 for (_, a), (_, b) in zip(S[n], [(x, f(v)) for x, v in S['throughput']])) for n, f in (
	('B-samples-per-day', lambda v: v * 86400 / 1e9), ('throughput_linearity', lambda v: v / 100),
	('model-flops-throughput-per-npu', lambda v: v / 8 * 2e-3), ('mfu', lambda v: v / 8 * 2e-3))]")" '[True, True, True, True]'
new_out
train PROBE_METRICS=local_norm,weight_norm PROBE_METRICS_INTERVAL=2 PROBE_METRICS_TARGETS='^0' PROBE_METRICS_INVERT=true PROBE_TENSORBOARD_TAGS=mindformers
same_output 'some of them'
is 'interval, targets, invert' "$(events "$out/tensorboard/rank_0" "sorted((t, [x for x, _ in p]) for t, p in S.items())")" \
	"[('local_norm/2.bias', [2, 4]), ('local_norm/2.weight', [2, 4]), ('weight_norm', [2, 4])]"
is 'weight_norm is of all parameters' "$(events "$out/tensorboard/rank_0" "[abs(v - [float(l.split()[2]) for l in open('$tmp/truth') if ' weight_norm ' in l][x - 1]) < 1e-5 for x, v in S['weight_norm']]")" '[True, True]'

# Stable ranks against singular values: with enough passes to six digits, every second step; of targets; over several steps where the
# budget is small. The time that it took is reported.
python_plain "$tmp/plain" tests/apps/py/metrics.py "$tmp/truth" ranks
differing_ranks() { # NAMES [STEPS]: tags of weight_stable_rank and weight_eigenvalue that are not the script's
	python3 - "$out" "$tmp/truth" "$1" "${2:-1 3}" <<'PY'
import csv, glob, re, sys
out, truth, names, steps = sys.argv[1:]
want = {(int(s), n): float(v) for s, n, v in map(str.split, open(truth)) if n.startswith("weight_") and "/" in n and re.search(names, n) and s in steps.split()}
have = {(int(r["step"]), f"{k}/{r['name']}"): float(r["value"]) for k in ("weight_stable_rank", "weight_eigenvalue")
        for f in glob.glob(f"{out}/[hr]*/{k}_*.csv") for r in csv.DictReader(open(f))}
print(len(want), sorted(have.keys() ^ want.keys()), [(k, have[k], want[k]) for k in have.keys() & want.keys() if abs(have[k] / want[k] - 1) > 1e-6])
PY
}
new_out
ranks() { # [NAME=VALUE ...]
	new_out
	train PROBE_METRICS=stable_rank PROBE_STABLE_RANK_INTERVAL=2 PROBE_STABLE_RANK_ITERATIONS=10000 "$@"
}
metrics_args=ranks
ranks
same_output 'stable ranks'
is 'stable ranks and eigenvalues as NumPy has them: of matrices, stacks, turned ones, bfloat16' "$(differing_ranks .)" '40 [] []'
is '... in event files' "$(events "$out/tensorboard/rank_0" "[x for x, _ in S['weight_stable_rank/0.weight']], len([t for t in S if t.startswith('weight_eigenvalue/experts/')])")" '([2, 4], 6)'
is '... with what it cost' "$(grep -o '"stable_rank": {"rounds": [0-9]*, "seconds": 0\.[0-9]*, "longest_step_s": 0\.[0-9]*, "rows": [0-9]*, "left_out": 0}' "$out"/[hr]*/meta.json | grep -c 'rounds": 2.*rows": 40')" 1
is 'the columns of msprobe are not asked for, and absent' "$(ls "$out"/[hr]*/ | grep -c -E '^(sr|kernel_norm)_')" 0
ranks PROBE_KINDS=sr,kernel_norm
same_output 'sr, kernel_norm'
is 'sr and kernel_norm as NumPy has them: Frobenius norm over the largest singular value, and that value' "$(python3 - "$out" "$tmp/truth" <<'PY'
import csv, glob, math, sys
out, truth = sys.argv[1:]
word = {"weight_stable_rank": "sr", "weight_eigenvalue": "kernel_norm"}
want = {}
for step, tag, value in map(str.split, open(truth)):
    kind, _, name = tag.partition("/")
    if kind in word and step in "13":
        want[int(step), word[kind], name] = math.sqrt(float(value))
have = {(int(r["step"]), k, r["name"]): float(r["value"]) for k in word.values()
        for f in glob.glob(f"{out}/[hr]*/{k}_*.csv") for r in csv.DictReader(open(f))}
print(len(want), sorted(have.keys() ^ want.keys()), [(k, have[k], want[k]) for k in have.keys() & want.keys() if abs(have[k] / want[k] - 1) > 1e-6])
PY
)" '40 [] []'
ranks PROBE_STABLE_RANK_TARGETS=experts PROBE_STABLE_RANK_EXPERTS=statistics
is 'targets and statistics over experts alone' "$(differing_ranks 'experts/expert_m')" '12 [] []'

# A summary as SummaryMonitor collects it: every second step and the first; histograms of the first parameters, or of those asked for.
summary() { # EXPRESSION
	events "$tmp/summary/rank_0" "$@"
}
differing_histograms() { # how many there are; those whose bins differ from NumPy's by more than what lies at an edge
	summary "len(H), [(t, x) for t, p in H.items() for x, h in p for w in [next([int(n) for n in l.split()[2].split(',')] for l in open('$tmp/truth') if l.startswith(f'{x - 1} histogram/{t[:-5]} '))]
		if len(w) != len(h['bucket']) or sum(abs(a - b) for a, b in zip(w, h['bucket'])) > 2 or h['num'] != sum(w) or h['limit'][-1] != h['max'] or h['limit'] != sorted(h['limit'])]"
}
new_out
train PROBE_SUMMARY_DIR="$tmp/summary" PROBE_SUMMARY_INTERVAL=2
same_output 'a summary'
is 'summary: steps, and the first five parameters' "$(summary "S.keys(), [x for x, _ in S['loss/auto']], {tuple(x for x, _ in p) for p in H.values()}, sorted(H)")" \
	"(dict_keys(['loss/auto']), [1, 2, 4], {(1, 2, 4)}, ['0.weight/auto', 'bare/auto', 'experts/auto', 'turned/auto', 'wide/auto'])"
is 'summary: their bins' "$(differing_histograms)" '(5, [])'
is 'summary: no file of kinds' "$(cd "$out"/[hr]*/ && ls | grep -cE 'histogram|param_|^_')" 0
rm -rf "$tmp/summary"
new_out
train PROBE_SUMMARY_DIR="$tmp/summary" PROBE_SUMMARY_LOSS=false PROBE_SUMMARY_TARGETS='bias$' PROBE_SUMMARY_INTERVAL=1 PROBE_SUMMARY_MAX_BYTES=600
is 'summary: targets, no loss, no more bytes than asked for' "$(summary "(len(S), sorted(H))") $(($(stat -c %s "$tmp"/summary/rank_0/events*) <= 600))" "(0, ['0.bias/auto', '2.bias/auto']) 1"
is 'summary: ... which is reported' "$(grep -c 'summary_max_bytes (now 600)' "$tmp/with.err")" 1
metrics_args=
python_plain "$tmp/plain" tests/apps/py/metrics.py "$tmp/truth"

# A MindSpore Transformers configuration, as that tool's manual has it: its tags and no others.
cat >"$tmp/train.yaml" <<'YAML'
output_dir: './output'
monitor_config:
    monitor_on: True
    target: ['0', '2']
    local_loss_format: ['log', 'tensorboard']
    local_norm_format: ['log', 'tensorboard']
    device_local_norm_format: ['log', 'tensorboard']
    optimizer_state_format: tensorboard
    weight_state_format: tensorboard
    throughput_baseline: 10
tensorboard:
    tensorboard_dir: 'worker/tensorboard'
    tensorboard_queue_size: 10
    log_loss_scale_to_tensorboard: True
    log_timers_to_tensorboard: True
callbacks:
    - type: MFLossMonitor
      per_print_times: 1
runner_config:
    epochs: 2
    sink_mode: False
YAML
app=$PWD/tests/apps/py/metrics.py
(cd "$tmp" && env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_CONFIG=train.yaml PROBE_MICRO_BATCH_SIZE=4 PROBE_STEPS_PER_EPOCH=3 timeout -k 5 150 "$python" \
	"$app" "$tmp/truth" >"$tmp/with" 2>"$tmp/with.err" </dev/null; echo $? >"$tmp/with.status")
status=$(cat "$tmp/with.status")
same_output 'with a foreign YAML'
is 'foreign YAML: the tags of that tool' "$(events "$tmp/worker/tensorboard/rank_0" "' '.join(sorted({t.replace('_vs_samples', '+').split('/')[0] for t in S}))")" \
	'B-samples-per-day adam_m_norm adam_v_norm batch-size batch-size+ device_local_norm grad-norm grad-norm+ iteration-time iteration-time+ learning-rate learning-rate+ local_lm_loss local_norm loss loss+ model-flops-throughput-per-npu throughput throughput+ throughput_linearity weight_norm'
is 'foreign YAML: their values' "$(grep -v accum "$tmp/truth" >"$tmp/asked"; events "$tmp/worker/tensorboard/rank_0" "D('$tmp/asked')")" '[]'
rank=$(echo "$tmp"/output/[hr]*/)
log_truth() {
	"$python" tests/e2e/log_truth.py "$@" 2>&1
}
is 'foreign YAML: the lines that that tool logs' "$(log_truth "$rank" 2 3 1 mean local_norm device_local_norm local_lm_loss throughput_linearity)" ''
is 'foreign YAML: stderr has them, as it says log' "$(sed -n 's/^libprobe: \(rank 0: \)*- INFO - //p' "$tmp/with.err" | cksum)" "$(cksum <"$rank/monitor.log")"

# Lines without a configuration of that tool; what is only logged is in no event file.
new_out
train PROBE_MONITOR_LOG=loss,weight_norm,adam_norm PROBE_METRICS=local_norm PROBE_PRINT_INTERVAL=2 PROBE_EPOCHS=1 PROBE_STEPS_PER_EPOCH=5 \
	PROBE_GLOBAL_BATCH_SIZE=8 PROBE_MODEL_FLOPS_PER_STEP=2e9
same_output 'lines in monitor.log'
rank=$(echo "$out"/[hr]*/)
is 'monitor_log: the lines' "$(log_truth "$rank" 1 5 1 every=2 adam_m_norm adam_v_norm weight_norm)" ''
is 'monitor_log: their values are those of the script' "$(python3 - "$rank/monitor.log" "$tmp/truth" <<'PY'
import sys
have = {}
for line in open(sys.argv[1]):
    if line.startswith("Epoch"):
        head, name, value = line.rsplit(" ", 2)
        have[int(head.split("[")[2].split("/")[0]) - 1, name.rstrip(":")] = float(value)
want = {(int(s), n): float(v) for s, n, v in map(str.split, open(sys.argv[2])) if n.split("/")[0] in ("adam_m_norm", "adam_v_norm", "weight_norm")}
print(have.keys() == want.keys(), [k for k in want if abs(have.get(k, 1e9) / want[k] - 1) > 1e-6])
PY
)" 'True []'
is 'no events of what is only logged' "$(events "$out/tensorboard/rank_0" "sorted({t.split('/')[0] for t in S if 'norm' in t})")" "['grad-norm', 'grad-norm_vs_samples', 'local_norm']"
is 'nothing on stderr' "$(grep -c INFO "$tmp/with.err")" 0
finish
