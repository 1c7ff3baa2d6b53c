#!/usr/bin/env bash
# NumPy 2.4.6 with ml_dtypes 0.6.0 (the small types of JAX): sums and means of ones.
#
# Question: what are sum(), mean(), norm and dot of 1000 ones in bfloat16, the 8-bit floats and int4? In float16 and int8 they are 1000, 1,
#           31.6 and 1000, but for dot of int8.
# Guess:    about the same, rounded to what the type can hold, as NumPy adds float16 pair by pair and int8 in 64 bits. In types
#           that end below 1000 the largest number or infinity.
# Real:     sum() adds one after the other in the type itself, and stops where 1 is lost in rounding: 256 in bfloat16, 16 and 8 in the
#           8-bit floats. So the mean of ones is 0.256, 0.0156 and 0.0078. int4 wraps and has the mean 0. float8_e8m0fnu has no
#           0 to begin with and gives NaN. norm() computes in float64 and is right, dot() is right in bfloat16.
# Matters:  means of weights and losses that were loaded as bfloat16 are too small by the number of elements, and standard deviations with
#           them: that of equal numbers is 0.5. Convert first: x.astype(np.float32).
. "$(dirname "$0")/lib.sh"
environment ml_dtypes ml_dtypes==0.6.0 numpy==2.4.6
cat >"$work/program.py" <<'P'
import ml_dtypes, numpy as np
for kind in (np.float16, np.int8, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
             ml_dtypes.float8_e8m0fnu, ml_dtypes.int4):
    x = np.ones(1000, kind)
    print(f"{x.dtype}: sum {x.sum()}, mean {float(x.mean()):.4g}, std {float(x.std()):.4g}, "
          f"norm {np.linalg.norm(x):.4g}, dot {np.dot(x, x)}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
float16: sum 1000.0, mean 1, std 0, norm 31.62, dot 1000.0
int8: sum 1000, mean 1, std 0, norm 31.62, dot -24
bfloat16: sum 256.0, mean 0.2559, std 0.5039, norm 31.62, dot 1000.0
float8_e4m3fn: sum 16.0, mean 0.01562, std 0.125, norm 31.62, dot nan
float8_e5m2: sum 8.0, mean 0.007812, std 0.09375, norm 31.62, dot 1024.0
float8_e8m0fnu: sum nan, mean nan, std nan, norm 31.62, dot 1024.0
int4: sum -8, mean 0, std 0, norm 31.62, dot -8
S
