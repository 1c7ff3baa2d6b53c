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
	python3 tests/e2e/attention_truth.py "$out" "$tmp/truth" "$1" 1e-5
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
