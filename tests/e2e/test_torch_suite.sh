#!/usr/bin/env bash
# Tests of PyTorch's own gloo suite end the same with and without the preload, all operators recorded.
# GLOO_TESTS="name ..." runs others than these few; "all" runs all, which takes hours here.
# timeout: 1500
# long: two tests more
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python "PyTorch: its own gloo suite"
if ! "$python" -c 'import expecttest' 2>/dev/null; then
	skip "PyTorch: its own gloo suite" "the package expecttest is not there"
	finish
fi
names=${GLOO_TESTS:-test_all_reduce_sum test_send_recv_any_source test_DistributedDataParallelCPU}
[ -z "${LONG:-}" ] || names="$names test_reduce_scatter_tensor_cuda test_ddp_buffer_hook_allreduce_return_future"
[ "${GLOO_TESTS:-}" != all ] || names=

suite() { # FILE [NAME=VALUE ...]
	local file=$1
	shift
	mkdir -p "$file.dir"
	# shellcheck disable=SC2086 # a list
	env OMP_NUM_THREADS=1 TEMP_DIR="$file.dir" "$@" timeout -k 5 "${GLOO_LIMIT:-400}" "$python" tests/apps/py/gloo_suite.py $names \
		2>"$file.err" </dev/null | grep -aE '^test_[A-Za-z0-9_]+ ' | sort >"$file"
	echo "${PIPESTATUS[0]}" >"$file.status"
}

printf 'c10d:\n  - "*"\naten:\n  - "aten::*"\n' >"$tmp/list.yaml"
suite "$tmp/plain"
is 'ends well without us' "$(cat "$tmp/plain.status")" 0
new_out
# Its processes are spawned: each is a program of its own.
suite "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" PROBE_JOURNAL_MIB=64
same_output "$(grep -c . "$tmp/plain") tests, $(grep -c ' ok$' "$tmp/plain") of them pass"
is 'calls were recorded' "$(cat "$out"/*/calls_*.csv | grep -c ',c10d,' | sed 's/^[1-9][0-9]*$/some/')" some
finish
