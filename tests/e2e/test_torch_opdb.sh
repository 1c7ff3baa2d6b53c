#!/usr/bin/env bash
# PyTorch's own sample inputs of every CPU operator (op_db), forward and backward, with all operators recorded: the same
# results and the same errors, bit for bit. OPDB_SAMPLES="EVERY FIRST SAMPLES [all]" chooses more or less than 3 samples of every
# third operator: "1 0 0 all" is all that there are, in all types, some 135,000, in 10 minutes.
# timeout: 900
# long: 3 samples of each operator
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: its own samples of all operators'
if ! "$python" -c 'import torch.testing._internal.common_methods_invocations' 2>/dev/null; then
	skip "PyTorch: its own samples of all operators" "the package expecttest is not there"
	finish
fi
read -r every first samples types <<<"${OPDB_SAMPLES:-$([ -n "${LONG:-}" ] && echo 1 || echo 3) 0 3}"
limit=$([ -z "${OPDB_SAMPLES:-}" ] && echo 420 || echo 1500)

samples() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	# Some samples are made of sets of names.
	# shellcheck disable=SC2086 # one word, or none
	env OMP_NUM_THREADS=1 PYTHONHASHSEED=0 "$@" timeout -k 5 "$limit" "$python" tests/apps/py/op_db.py "$every" "$first" "$samples" $types \
		>"$file.all" 2>"$file.err" </dev/null
	status=$?
	# What lies in memory that was never written to is no result; lstsq, too, differs from run to run without us.
	grep -vE '^((new_)?empty|linalg\.lstsq)' "$file.all" >"$file"
	echo $status >"$file.status"
}

printf 'aten:\n  - "aten::*"\n' >"$tmp/list.yaml"
samples "$tmp/plain"
is 'ends well without us' $status 0
new_out
samples "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" PROBE_BACKWARD=true PROBE_JOURNAL_MIB=256
same_output "$(grep -c . "$tmp/plain") samples of $(cut -d' ' -f1 "$tmp/plain" | sort -u | grep -c .) operators"
[ -n "${OPDB_SAMPLES:-}" ] || is 'nothing is reported' "$(libprobe_lines "$tmp/with.err")" ''
is 'many calls were recorded' "$(rows "$out" 'len(calls(R)) > 10 * '"$(grep -c . "$tmp/plain")")" True
[ -n "${OPDB_SAMPLES:-}" ] || is 'nothing was dropped' "$(rows "$out" '[m["calls"]["dropped"]["journal_full"] for m in M.values()]')" '[0]'
contract 'op_db' "$out"
finish
