#!/usr/bin/env bash
# cuBLAS and cublasLt, on a libcublas.so.13 and a libcublasLt.so.13 that compute on the processor: results unchanged, and for every
# tensor of every call the row that long double arithmetic over its elements says: plain, mixed types, batches by strides, factors
# that must not be read, orders, layouts that only the library's own functions can read. What one library calls of the other is
# one call.
# long: 20 times as many calls
# beside: nothing of it waits
. "$(dirname "$0")/lib.sh"
calls=${LONG:+40000} seed=$RANDOM
calls=${calls:-2000}
echo 'cublas: ["cublas*"]' >"$tmp/list.yaml"
echo 'cublas: ["cublasLt*"]' >"$tmp/lt.yaml"
run_one() { # FILE [NAME=VALUE ...] PROGRAM [ARGS]
	local file=$1
	shift
	env "$@" >"$file" 2>"$file.err" </dev/null
	echo $? >"$file.status"
}
try() { # NAME PROGRAM LIST [ARGUMENT]
	local name=$1 app=$B/apps/$2 list=$3
	shift 3
	[ -x "$app" ] || {
		fail "$name: the program is built" 'make apps'
		return
	}
	run_one "$tmp/plain" "$app" $seed $calls "$tmp/truth.plain" "$@"
	is "$name: the program itself" "$(cat "$tmp/plain.status")" 0
	new_out
	run_one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$list" "$app" $seed $calls "$tmp/truth" "$@"
	same_result "$name, seed $seed"
	ok "$name: the program saw the same tensors" cmp "$tmp/truth.plain" "$tmp/truth"
	ok "$name: every row is the tensor's" python3 tests/e2e/blas_truth.py "$out" "$tmp/truth"
	contract "$name" "$out"
	silent "$name: nothing is said" "$tmp/with.err"
}
try cuBLAS cublas_calls "$tmp/list.yaml"
try cublasLt cublaslt_calls "$tmp/list.yaml"
try 'cublasLt alone: that call is the outermost' cublaslt_calls "$tmp/lt.yaml" nested
new_out
run_one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$B/apps/cublas_calls" $seed 100 "$tmp/truth"
is 'by the default list there is nothing' "$(ls "$out" 2>/dev/null)" ''
finish
