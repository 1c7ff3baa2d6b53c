#!/usr/bin/env bash
# Kinds of attention (max_attention_logit, attention_entropy, softmax_max), against what the script itself computes in float64, and, where
# there is one, against msprobe's own functions on the same numbers.
# beside: does not wait busily
# timeout: 400
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'attention'
new_out
kinds=max_attention_logit,attention_entropy,softmax_max
python_plain "$tmp/plain" tests/apps/py/attention.py "$tmp/truth" 8
train() { # ROWS [NAME=VALUE ...]
	env OMP_NUM_THREADS=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_ATTENTION_ROWS="$1" "${@:2}" \
		timeout -k 5 150 "$python" tests/apps/py/attention.py "$tmp/truth" "$1" >"$tmp/with" 2>"$tmp/with.err" </dev/null
	status=$?
	echo $status >"$tmp/with.status"
}
# The numbers of 32-bit kernels to 6 digits. SKIPPED: a pattern of rows that the script alone has.
differing() { # TRUTH SKIPPED
	python3 tests/e2e/attention_truth.py "$out" "$1" "$2" 1e-6
}
if [ -n "$test_msprobe" ]; then
	new_out
	ok "msprobe's own functions on the same numbers" "$test_msprobe" tests/apps/py/attention.py "$tmp/truth.peer" 0 msprobe
	train 0 PROBE_KINDS=attention_entropy,softmax_max PROBE_ATTENTION_INTERVAL=1
	is "the same values as msprobe's" "$(differing "$tmp/truth.peer" .^)" '96 [] []'
else
	skip "the same values as msprobe's" 'PROBE_TEST_MSPROBE is not set'
fi
new_out
train 8 PROBE_KINDS=$kinds PROBE_ATTENTION_INTERVAL=1
same_output 'attention'
is 'logits exactly, by two bounds and by the upper one; entropy of 8 rows' "$(differing "$tmp/truth" .^)" '352 [] []'
is 'nothing on stderr' "$(libprobe_lines "$tmp/with.err" | wc -l)" 0
new_out
train 0 PROBE_KINDS=$kinds PROBE_ATTENTION_INTERVAL=3 PROBE_TARGETS='layers.0,layers.4,layers.6' PROBE_PRESET=ops PROBE_FLOPS_INTERVAL=1
same_output 'attention, operators recorded'
is 'one in 3 steps, some layers, all rows' "$(differing "$tmp/truth" '^[12] |layers.[12357]')" '60 [] []'
finish
