#!/usr/bin/env bash
# BLAS, as C and as Fortran calls it, in each implementation that is here: results unchanged, and for every tensor of every call
# the row that long double arithmetic over its elements gives. CBLAS of the reference calls Fortran's functions: one row. NumPy of
# Debian and of PyPI, which brings its own BLAS with names of its own. Off without the section in the list.
# long: 20 times as many calls
# beside: does not wait
# timeout: 600
. "$(dirname "$0")/lib.sh"

# The implementations of this machine; Debian keeps each in a folder of its own.
blas_files() {
	find /usr/lib \( -path '*blas*' -o -path '*blis*' \) \( -name 'libblas.so.3' -o -name 'libopenblas.so.0' \) 2>/dev/null
}
files=$(blas_files | xargs -r -n1 realpath | sort -u)
cat >"$tmp/list.yaml" <<-'END'
	cblas: ["cblas_*"]
	blas: ["*"]
END
calls=${LONG:+60000}
# OpenBLAS 0.3.21 reads beyond small matrices with AVX-512 (dgemm_small_kernel_nt_COOPERLAKE), and ends now and then, with us or without.
! grep -q avx512 /proc/cpuinfo || export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-Haswell}
plain_run() { # [NAME=VALUE ...] PROGRAM [ARGS]
	env "$@" >"$tmp/plain" 2>"$tmp/plain.err" </dev/null
	echo $? >"$tmp/plain.status"
}
with_run() {
	env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" "$@" >"$tmp/with" 2>"$tmp/with.err" </dev/null
	echo $? >"$tmp/with.status"
}
uncalled() { # TRUTH
	sed -n 's/^  \([a-z0-9_]*\): {kind.*/\1/p' configs/apis/cblas.yaml configs/apis/blas.yaml | sort -u >"$tmp/specs"
	cut -d' ' -f1 "$1" | sort -u | comm -23 "$tmp/specs" -
}
try() { # FILE
	local name=${1#/usr/lib/} seed=$RANDOM
	name=${name%/*}
	program blas_calls -Wno-unused-parameter "$1" "-Wl,-rpath,$(dirname "$1")" -lm -ldl
	plain_run "$tmp/blas_calls" "$seed" "${calls:-3000}" "$tmp/truth.plain"
	new_out
	with_run PROBE_WRAP_OPS="$tmp/list.yaml" "$tmp/blas_calls" "$seed" "${calls:-3000}" "$tmp/truth"
	same_result "$name, seed $seed"
	ok "$name: the program saw the same tensors" cmp "$tmp/truth.plain" "$tmp/truth"
	ok "$name: every row is the tensor's" python3 tests/e2e/blas_truth.py "$out" "$tmp/truth"
	is "$name: functions of the specs that were not called" "$(uncalled "$tmp/truth")" ''
	contract "$name" "$out"
	silent "$name: nothing is reported" "$tmp/with.err"
}
cat >"$tmp/products.py" <<-'END'
	import sys
	import numpy as np
	r = np.random.default_rng(7)
	a, b, v = r.standard_normal((37, 53)), r.standard_normal((53, 11)), r.standard_normal(53)
	f = a.astype(np.float32)
	z = a + 1j * r.standard_normal((37, 53))
	c, d, e, g, h = a @ b, a @ v, float(v @ v), f @ f[:, ::-1].T.copy(), z @ z[:29].T.copy()
	print(*(x.hex() for x in (c.sum(), d.sum(), e, float(g.sum()), h.real.sum())))
	def say(op, *tensors):
	    for io, x in tensors:
	        parts = x.view(x.real.dtype).astype(np.longdouble) if x.dtype.kind == "c" else x.astype(np.longdouble)
	        print(op, io, x.dtype, x.size, format(parts.min(), ".9g"), format(parts.max(), ".9g"), format(np.sqrt((parts * parts).sum()), ".9g"))
	say("gemm", ("in", a), ("in", b), ("out", c))
	say("gemv", ("in", a), ("in", v), ("out", d))
	say("dot", ("in", v), ("in", v))
	say("gemm", ("in", f), ("in", np.ascontiguousarray(f[:, ::-1].T)), ("out", g))
	say("gemm", ("in", z), ("in", np.ascontiguousarray(z[:29].T)), ("out", h))
END
numpy_tensors() {
	rows "$out" '"\n".join(" ".join([r["op"], r["io"], r["dtype"], r["count"], *(format(float(r[c]), ".9g") for c in ("min", "max", "norm"))]) for r in R if r["lib"] == "cblas" and r["count"] != "2")' # of two elements: what NumPy tries when it is imported
}
numpy() { # PYTHON TEXT
	local text="NumPy $("$1" -c 'import numpy; print(numpy.__version__)' 2>/dev/null) of $2"
	if [ "$text" = "NumPy  of $2" ]; then
		skip "NumPy of $2" 'it is not installed'
		return
	fi
	plain_run OPENBLAS_NUM_THREADS=1 "$1" "$tmp/products.py"
	new_out
	with_run OPENBLAS_NUM_THREADS=1 PROBE_WRAP_OPS="$tmp/list.yaml" "$1" "$tmp/products.py"
	same_result "$text"
	is "$text: its tensors" "$(numpy_tensors | sort)" "$(grep -E '^(gemm|gemv|dot) ' "$tmp/with" | sort)"
}

[ -n "$files" ] || skip 'BLAS' 'no libblas.so.3 is here'
for f in $files; do
	try "$f"
done
if [ -n "$files" ]; then
	new_out
	with_run "$tmp/blas_calls" 1 100 "$tmp/truth"
	is 'with the default list nothing is recorded' "$(ls "$out" 2>/dev/null)" ''
fi
numpy /usr/bin/python3 Debian
if [ -n "$test_python" ]; then
	numpy "$test_python" PyPI
else
	skip 'NumPy of PyPI' 'no Python of make ptvenv, and PROBE_TEST_PYTHON names none'
fi
finish
