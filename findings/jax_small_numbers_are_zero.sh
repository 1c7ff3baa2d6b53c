#!/usr/bin/env bash
# JAX 0.10.2, CPU: numbers below 1.18e-38, the smallest that float32 and bfloat16 hold with all their digits.
#
# Question: x is 1e-40. What are x == 0, count_nonzero, x > 0, x * 2, log(x), array_equal with zeros, and sort of x and 0?
# Guess:    NumPy's answers: such numbers are in the type, JAX converts and prints them, and -x and abs(x) keep them.
# Real:     computing and comparing treat them as 0: x == 0 is True, x * 2 is 0, log(x) is -inf, and an array of them is array_equal to
#           zeros. sort() leaves x, 0 as it is. count_nonzero() counts none in float32 and each in bfloat16. max() of it and 0 is 0. float16
#           keeps its own small numbers, since it is computed in float32. NumPy in the same process is not concerned.
# Matters:  two dumps or ranks that array_equal() calls equal have other bytes and checksums; squares of gradients of 1e-20 are zeros
#           for JAX and numbers for the NumPy that loads them; log of a small probability is -92 in one and -inf in the other.
. "$(dirname "$0")/lib.sh"
environment jax jax==0.10.2 numpy==2.4.6
cat >"$work/program.py" <<'P'
import os
os.environ["JAX_PLATFORMS"] = "cpu"
import jax.numpy as jnp, numpy as np
import ml_dtypes
for kind, small in (np.float32, 1e-40), (ml_dtypes.bfloat16, 1e-40), (np.float16, 1e-7):
    for name, lib in ("NumPy", np), ("JAX", jnp):
        x = lib.asarray(np.array([small, 0], kind))
        print(f"{x.dtype} {name}: x == 0 {bool(x[0] == 0)}, count_nonzero {lib.count_nonzero(x)}, x > 0 {bool(x[0] > 0)}, "
              f"x * 2 {float(x[0] * 2):.3g}, -x {float(-x[0]):.3g}, log {float(lib.log(x[0])):.3g}, "
              f"equal to zeros {bool(lib.array_equal(x, lib.zeros_like(x)))}, sort {[f'{float(v):.3g}' for v in lib.sort(x)]}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
float32 NumPy: x == 0 False, count_nonzero 1, x > 0 True, x * 2 2e-40, -x -1e-40, log -92.1, equal to zeros False, sort ['0', '1e-40']
float32 JAX: x == 0 True, count_nonzero 0, x > 0 False, x * 2 0, -x -1e-40, log -inf, equal to zeros True, sort ['1e-40', '0']
bfloat16 NumPy: x == 0 False, count_nonzero 1, x > 0 True, x * 2 1.84e-40, -x -9.18e-41, log -92, equal to zeros False, sort ['0', '9.18e-41']
bfloat16 JAX: x == 0 True, count_nonzero 1, x > 0 False, x * 2 0, -x -9.18e-41, log -inf, equal to zeros True, sort ['9.18e-41', '0']
float16 NumPy: x == 0 False, count_nonzero 1, x > 0 True, x * 2 2.38e-07, -x -1.19e-07, log -15.9, equal to zeros False, sort ['0', '1.19e-07']
float16 JAX: x == 0 False, count_nonzero 1, x > 0 True, x * 2 2.38e-07, -x -1.19e-07, log -15.9, equal to zeros False, sort ['0', '1.19e-07']
S
