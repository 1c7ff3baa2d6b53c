#!/usr/bin/env bash
# cuBLAS, on a libcublas.so.13 that computes on the processor: results unchanged, and for every tensor of every call the row that
# long double arithmetic over its elements says: plain, mixed types, batches by strides, factors that must not be read.
# long: 20 times as many calls
# beside: nothing of it waits
. "$(dirname "$0")/lib.sh"
app=$B/apps/cublas_calls
[ -x "$app" ] || {
	fail 'cuBLAS: the program is built' 'make apps'
	finish
}
calls=${LONG:+40000} seed=$RANDOM
calls=${calls:-2000}
echo 'cublas: ["cublas*"]' >"$tmp/list.yaml"
run_one() { # FILE [NAME=VALUE ...] PROGRAM [ARGS]
	local file=$1
	shift
	env "$@" >"$file" 2>"$file.err" </dev/null
	echo $? >"$file.status"
}
run_one "$tmp/plain" "$app" $seed $calls "$tmp/truth.plain"
is 'the program itself' "$(cat "$tmp/plain.status")" 0
new_out
run_one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" "$app" $seed $calls "$tmp/truth"
same_result "cuBLAS, seed $seed"
ok 'the program saw the same tensors' cmp "$tmp/truth.plain" "$tmp/truth"
ok 'every row is the tensor'"'"'s' python3 tests/e2e/blas_truth.py "$out" "$tmp/truth"
contract 'cuBLAS' "$out"
silent 'nothing is said' "$tmp/with.err"
new_out
run_one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$app" $seed 100 "$tmp/truth"
is 'by the default list there is nothing' "$(ls "$out" 2>/dev/null)" ''
finish
