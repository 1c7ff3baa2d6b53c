#!/usr/bin/env bash
# Kinds of experts (router_similarity, expert_entropy, tokens_per_expert, expert_balance), against what the script itself computes, and, where
# there is one, against msprobe's own functions on the same numbers.
# beside: does not wait busily
# timeout: 400
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'routers of experts'
new_out
python_plain "$tmp/plain" tests/apps/py/experts.py "$tmp/truth"
train() { # [NAME=VALUE ...]
	env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@" timeout -k 5 150 "$python" tests/apps/py/experts.py "$tmp/truth" \
		>"$tmp/with" 2>"$tmp/with.err" </dev/null
	status=$?
	echo $status >"$tmp/with.status"
}
differing() { # SKIPPED: a pattern of rows that the script alone has
	python3 - "$out" "$tmp/truth" "$1" <<'PY'
import csv, glob, re, sys
out, truth, skipped = sys.argv[1:]
want = {(int(s), k, n): float(v) for s, k, n, v in map(str.split, open(truth)) if not re.search(skipped, f"{s} {k} {n}")}
have = {(int(r["step"]), k, r["name"]): float(r["value"]) for k in {k for _, k, _ in want}
        for f in glob.glob(f"{out}/[hr]*/{k}_*.csv") for r in csv.DictReader(open(f))}
print(len(want), sorted(have.keys() ^ want.keys())[:4], [(k, have[k], want[k]) for k in have.keys() & want.keys() if abs(have[k] - want[k]) > 1e-6 * abs(want[k]) + 1e-12][:4])
PY
}
if [ -n "$test_msprobe" ]; then
	new_out
	ok "msprobe's own functions on the same numbers" "$test_msprobe" tests/apps/py/experts.py "$tmp/truth.peer" msprobe
	env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_KINDS=router_similarity,expert_entropy "$python" tests/apps/py/experts.py "$tmp/truth" >/dev/null
	cp "$tmp/truth.peer" "$tmp/truth"
	is "the same values as msprobe's" "$(differing .^)" '32 [] []'
else
	skip "the same values as msprobe's" 'PROBE_TEST_MSPROBE is not set'
fi
kinds=tokens_per_expert,expert_balance,router_similarity,expert_entropy
train PROBE_KINDS=$kinds PROBE_EXPERT_CAPACITY_FACTOR=1.1
same_output 'routers of experts'
# What a counter has counted before its second look is not known.
is 'routers of four forms: entropy, similarity, tokens, balance' \
	"$(differing '^0 (tokens_per_expert|expert_balance) layers.3')" '212 [] []'
is 'nothing on stderr' "$(libprobe_lines "$tmp/with.err" | wc -l)" 0
new_out
train PROBE_KINDS=tokens_per_expert,expert_balance PROBE_ROUTER_TARGETS='layers\.[01]\.'
same_output 'some routers, no capacity'
is 'targets; without a capacity no drop rate' "$(differing 'layers.[23]|drop_rate|router_similarity|entropy')" '88 [] []'
# ---- the lines of MindSpore Transformers' MoeMonitor (2.1.0): json.dumps() of a dictionary in this order ----
new_out
train PROBE_MONITOR_LOG=tokens_per_expert PROBE_TOKENS_LOG_INTERVAL=2 PROBE_TOKENS_LOG_LAYERS='[0-1, 3]'
same_output 'lines of tokens'
python3 - "$tmp/truth" >"$tmp/lines" <<'PY'
import collections, json, re, sys
tokens = collections.defaultdict(list)
for line in open(sys.argv[1]):
    step, kind, name, value = line.split()
    if kind == "tokens_per_expert":
        tokens[int(step), int(re.search(r"layers\.(\d+)\.", name)[1])].append(int(float(value)))
for (step, layer), n in sorted(tokens.items()):
    if (step + 1) % 2 == 0 and layer != 2:
        print(json.dumps({"iter": step + 1, "step": step + 1, "micro_step": 0, "block": "decoder", "layer": layer, "tpe": [n]}))
PY
ok "lines of tokens: every second micro step, three layers ($(grep -c . "$tmp/lines"))" diff "$tmp/lines" "$(echo "$out"/*/monitor.log)"
# ---- split sizes of all_to_all ----
new_out
torchrun_plain 2 tests/apps/py/expert_parallel.py
torchrun_with 2 PROBE_KINDS=tokens_per_rank,tokens_per_expert tests/apps/py/expert_parallel.py "$tmp/sent"
same_output 'experts on two ranks'
sent() {
	python3 - "$out" "$tmp/sent" <<'PY'
import csv, glob, sys
out, truth = sys.argv[1:]
want = {(r, int(s), k, n): float(v) for r in (0, 1) for s, k, n, v in map(str.split, open(f"{truth}.{r}"))}
have = {(r, int(row["step"]), k, row["name"]): float(row["value"]) for r in (0, 1) for k in ("tokens_per_rank", "tokens_per_expert")
        for f in glob.glob(f"{out}/*/rank{r}/{k}_*.csv") + glob.glob(f"{out}/rank{r}/{k}_*.csv") for row in csv.DictReader(open(f))}
print(len(want), sorted(have.keys() ^ want.keys())[:4], [(k, have[k], want[k]) for k in have.keys() & want.keys() if have[k] != want[k]][:4])
PY
}
is 'rows sent to each rank; of experts with one a rank, and of a router that shows its own' "$(sent)" '60 [] []'
finish
