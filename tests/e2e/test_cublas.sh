#!/usr/bin/env bash
# cuBLAS and cublasLt, on a libcublas.so.13 and a libcublasLt.so.13 that compute on the processor: results unchanged, and for every
# tensor of every call the row that long double arithmetic over its elements says: every function of the specs, with integers of 32
# and of 64 bits, mixed types, batches by strides and by addresses, factors that must not be read, what is refused, orders, layouts
# that only the library's own functions can read. What one library calls of the other is one call. The stand-in's prototypes are
# NVIDIA's, and those of all that compute, where its header is there (CUDA_INCLUDE: its folder).
# long: 20 times as many calls
# beside: does not wait
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
	silent "$name: nothing is reported" "$tmp/with.err"
}
try cuBLAS cublas_calls "$tmp/list.yaml"
cut -d' ' -f1 "$tmp/truth" >"$tmp/called"
try cublasLt cublaslt_calls "$tmp/list.yaml"
cut -d' ' -f1 "$tmp/truth" >>"$tmp/called"
try 'cublasLt alone: that call is the outermost' cublaslt_calls "$tmp/lt.yaml" nested
# Functions that the specs make libprobe.so wrap: each row with each of its variants.
nm -D --defined-only "$lib" | sed -n 's/.* T \(cublas\)/\1/p' | sort >"$tmp/wrapped"
isnt 'there are functions of cuBLAS in libprobe.so' "$(wc -l <"$tmp/wrapped")" 0
is 'functions of the specs that were not called' "$(sort -u "$tmp/called" | comm -23 "$tmp/wrapped" -)" ''
cuda=${CUDA_INCLUDE:-/usr/local/cuda/include}
if [ ! -f "$cuda/cublas_v2.h" ] || ! command -v g++ >/dev/null; then
	skip "the stand-in's prototypes are NVIDIA's, and the specs have all that compute" 'no cublas_v2.h, or no g++'
else
	# Not what is asked and set of a handle, of the library or of its log, nor copies from and to the device.
	echo '#include <cublas_v2.h>' | g++ -E -P -x c++ -isystem "$cuda" - | tr '\n' ' ' | tr ';' '\n' |
		sed -nE 's/.*\b(cublas[A-Z][A-Za-z0-9]*(_v2)?(_64)?) ?\([^(]*\) *$/\1/p' |
		grep -vE '^cublas(Create|Destroy|Get|Set|LoggerConfigure|Xerbla|Migrate)' | sort -u >"$tmp/declared"
	is 'functions of the header that no spec has' "$(comm -23 "$tmp/declared" "$tmp/wrapped")" ''
	is 'functions of the specs that no header has' "$(comm -13 "$tmp/declared" <(grep -v '^cublasLt' "$tmp/wrapped"))" ''
	printf '#include <%s>\n' cublas_v2.h functions.h >"$tmp/prototypes.cpp"
	# Each is declared twice then: one that NVIDIA does not declare is not.
	g++ -fsyntax-only -Wredundant-decls -isystem "$cuda" -Itests/doubles/cublas "$tmp/prototypes.cpp" 2>"$tmp/said"
	is "the stand-in's prototypes are NVIDIA's" "$? $(grep -c 'redundant redeclaration' "$tmp/said") $(grep 'error' "$tmp/said")" \
		"0 $(($(grep -c '^cublas[^L]' "$tmp/wrapped") + 6)) "
fi
new_out
run_one "$tmp/with" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$B/apps/cublas_calls" $seed 100 "$tmp/truth"
is 'with the default list nothing is recorded' "$(ls "$out" 2>/dev/null)" ''
finish
