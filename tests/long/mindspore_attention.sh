#!/usr/bin/env bash
# Kinds max_attention_logit, attention_entropy and softmax_max of a training with MindSpore on the CPU, in PYNATIVE, GRAPH and jit, against
# what the script computes by NumPy in float64; losses bit for bit as without us. In the environment of mindspore.sh.
# timeout: 2400
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/mindspore.sh
mindspore_python 'MindSpore: attention'
export OMP_NUM_THREADS=1
train() { # FILE MODE ROWS [NAME=VALUE ...]
	timeout -k 5 600 env "${@:4}" "$ms_bin/python" tests/apps/py/ms_attention.py "$tmp/truth" "$3" --mode "$2" >"$1" 2>"$1.err" </dev/null
}
differing() {
	python3 - "$out" "$tmp/truth" "$@" <<'PY'
import csv, glob, re, sys
out, truth, skipped = sys.argv[1:]
columns = {"max_attention_logit": ("upper", "lower")}
want, have = {}, {}
for line in open(truth):
    step, kind, name, *v = line.split()
    if not re.search(skipped, line):
        want[int(step), kind, name] = [float(x) for x in v]
for kind in {k for _, k, _ in want}:
    for f in glob.glob(f"{out}/*/{kind}_*.csv"):
        for r in csv.DictReader(open(f)):
            have[int(r["step"]), kind, r["name"]] = [float(r[c]) for c in columns.get(kind, ("value", "rows", "rows_total"))]
near = lambda a, b: abs(a - b) <= 1e-5 * max(abs(b), 1)
print(sum(map(len, want.values())), sorted(have.keys() ^ want.keys())[:4],
      [(k, have[k], want[k]) for k in sorted(have.keys() & want.keys()) if not all(map(near, have[k], want[k]))][:4])
PY
}
kinds=max_attention_logit,attention_entropy,softmax_max
for mode in pynative graph jit; do
	train "$tmp/plain" $mode 4
	new_out
	train "$tmp/with" $mode 4 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_KINDS=$kinds PROBE_ATTENTION_INTERVAL=1 PROBE_ATTENTION_ROWS=4
	is "$mode: losses, bit for bit" "$(grep -c '^step 3' "$tmp/plain"; cmp "$tmp/plain" "$tmp/with" 2>&1)" 1
	is "$mode: largest logits of each head, entropy and largest probability of four rows" "$(differing .^)" '96 [] []'
done
new_out
train "$tmp/with" pynative 0 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_KINDS=$kinds PROBE_ATTENTION_INTERVAL=2 PROBE_ATTENTION_ROWS=0
is 'all rows, every second step' "$(differing '^[13] ')" '48 [] []'
finish
