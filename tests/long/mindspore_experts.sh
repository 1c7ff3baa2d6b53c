#!/usr/bin/env bash
# Kinds router_similarity, expert_entropy, tokens_per_expert and expert_balance of a training with MindSpore on the CPU, in PYNATIVE, GRAPH
# and jit, against what the script computes by NumPy in float64; losses and weights bit for bit as without us; kinds that MindSpore's
# kernels do not show are reported. In the environment of mindspore.sh.
# timeout: 2400
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/mindspore.sh
mindspore_python 'MindSpore: routers of experts'
export OMP_NUM_THREADS=1
app=tests/apps/py/ms_experts.py
train() { # FILE SCRIPT-OPTIONS [NAME=VALUE ...]
	# shellcheck disable=SC2086
	timeout -k 5 600 env "${@:3}" "$ms_bin/python" $app "$tmp/truth" $2 >"$1" 2>"$1.err" </dev/null
	status=$?
}
differing() { # SKIPPED: a pattern of rows that the script alone has
	python3 - "$out" "$tmp/truth" "$1" <<'PY'
import csv, glob, re, sys
out, truth, skipped = sys.argv[1:]
want = {(int(s), k, n): float(v) for s, k, n, v in map(str.split, open(truth)) if not re.search(skipped, f"{s} {k} {n}")}
rows = [((int(r["step"]), k, r["name"]), float(r["value"])) for k in sorted({k for _, k, _ in want})
        for f in glob.glob(f"{out}/[hr]*/{k}_*.csv") for r in csv.DictReader(open(f))]
have = dict(rows)
print(len(want), len(rows), sorted(have.keys() ^ want.keys())[:4], [(k, have[k], want[k]) for k in have.keys() & want.keys() if not abs(have[k] - want[k]) <= 1e-6 * abs(want[k]) + 1e-12][:4])
PY
}
kinds=tokens_per_expert,expert_balance,router_similarity,expert_entropy
for mode in pynative graph jit 'graph --recompute'; do
	train "$tmp/plain" "--mode $mode"
	new_out
	train "$tmp/with" "--mode $mode" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_KINDS=$kinds PROBE_EXPERT_CAPACITY_FACTOR=1.1
	is "$mode: ends well, nothing on stderr" "$status $(libprobe_lines "$tmp/with.err" | wc -l)" '0 0'
	is "$mode: losses and weights, bit for bit" "$(grep -cE '^(step [0-3]|weights) ' "$tmp/plain"; cmp "$tmp/plain" "$tmp/with" 2>&1)" 5
	is "$mode: routers of four forms: similarity, entropy, tokens, balance" "$(differing .^)" '224 224 [] []'
done
new_out
train "$tmp/with" '--mode pynative' LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_KINDS=$kinds,tokens_per_rank,max_attention_logit \
	PROBE_ROUTER_TARGETS='layers\.[01]\.(gate|router)' PROBE_MONITOR_LOG=tokens_per_expert
is 'targets; without a capacity no drop rate' "$(differing 'layers.[23]|drop_rate')" '104 104 [] []'
is 'what kernels do not show, and of what there is none, is in meta.json' \
	"$(python3 -c 'import glob, json, sys; print(sorted(json.load(open(glob.glob(sys.argv[1] + "/[hr]*/meta.json")[0]))["invisible"]))' "$out")" \
	"['max_attention_logit', 'tokens_per_rank']"
is 'lines of tokens, of two routers in four steps' "$(grep -c '"tpe"' "$out"/*/monitor.log)" 8
new_out
train "$tmp/with" '--mode graph' LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_KINDS=$kinds PROBE_ROUTER_TARGETS='^no\.such'
is 'no router: reported' \
	"$(python3 -c 'import glob, json, sys; print(sorted(json.load(open(glob.glob(sys.argv[1] + "/[hr]*/meta.json")[0]))["invisible"]))' "$out")" \
	"['expert_balance', 'expert_entropy', 'router_similarity', 'tokens_per_expert']"
finish
