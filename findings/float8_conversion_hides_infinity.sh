#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU) and ml_dtypes 0.6.0: conversions of float32 to the 8-bit types.
#
# Question: what becomes of inf, of 500 (beyond the largest number, 448) and of -1 and 0 in types that have no infinity, no sign or
#           no zero?
# Guess:    NaN where the type cannot hold the number, in each of the types and in both libraries.
# Real:     PyTorch's float8_e4m3fn makes 448 of inf and of 500, its float8_e4m3fnuz makes NaN of both, and float8_e8m0fnu makes 1 of -1
#           and 2^-127 of 0. ml_dtypes makes NaN of all of these.
# Matters:  an infinity that is quantised to float8_e4m3fn is a large number from then on; a check after the conversion finds nothing.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/of_torch.py" <<'P'
import torch
values = torch.tensor([float("inf"), 500., -1., 0.])
for name in "float8_e4m3fn", "float8_e4m3fnuz", "float8_e8m0fnu":
    print("PyTorch", name, values.to(getattr(torch, name)).float().tolist())
P
"$python" -W ignore "$work/of_torch.py" >"$work/seen" || exit 2
environment ml_dtypes ml_dtypes==0.6.0 numpy==2.4.6
cat >"$work/of_ml_dtypes.py" <<'P'
import ml_dtypes, numpy as np
values = np.array([np.inf, 500., -1., 0.], np.float32)
for name in "float8_e4m3fn", "float8_e4m3fnuz", "float8_e8m0fnu":
    print("ml_dtypes", name, values.astype(getattr(ml_dtypes, name)).astype(np.float32).tolist())
P
"$python" -W ignore "$work/of_ml_dtypes.py" >>"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
PyTorch float8_e4m3fn [448.0, 448.0, -1.0, 0.0]
PyTorch float8_e4m3fnuz [nan, nan, -1.0, 0.0]
PyTorch float8_e8m0fnu [nan, 512.0, 1.0, 5.877471754111438e-39]
ml_dtypes float8_e4m3fn [nan, nan, -1.0, 0.0]
ml_dtypes float8_e4m3fnuz [nan, nan, -1.0, 0.0]
ml_dtypes float8_e8m0fnu [nan, 512.0, nan, nan]
S
