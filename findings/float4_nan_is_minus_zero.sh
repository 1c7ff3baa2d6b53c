#!/usr/bin/env bash
# ml_dtypes 0.6.0 (the small types of NumPy and JAX): NaN and infinity in the 4- and 6-bit floats of the MX formats.
#
# Question: float4_e2m1fn, float6_e2m3fn and float6_e3m2fn have neither NaN nor infinity. What becomes of these?
# Guess:    an error, or the largest number for both.
# Real:     infinity becomes the largest number; NaN becomes -0. int4 makes 0 of all three.
# Matters:  a NaN in weights or activations is an ordinary zero once it is quantised. In an MX block only the block's scale can show
#           it, and does not if that is computed with a maximum that skips NaN.
. "$(dirname "$0")/lib.sh"
environment ml_dtypes ml_dtypes==0.6.0 numpy==2.4.6
cat >"$work/program.py" <<'P'
import ml_dtypes, numpy as np
values = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
for name in "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "int4":
    with np.errstate(all="ignore"):
        print(name, values.astype(getattr(ml_dtypes, name)).astype(np.float32).tolist())
P
"$python" -W ignore "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
float4_e2m1fn [-0.0, 6.0, -6.0, 1.0]
float6_e2m3fn [-0.0, 7.5, -7.5, 1.0]
float6_e3m2fn [-0.0, 28.0, -28.0, 1.0]
int4 [0.0, 0.0, 0.0, 1.0]
S
