#!/usr/bin/env bash
# gguf 0.19.0 (the Python package of llama.cpp's converters): weights that hold one NaN or infinity, quantized and read back.
#
# Question: 256 weights lie between -1 and 1; one of them is NaN, or infinite. What is read back of it and of the 31 weights that share its
#           block of 32, for the types that a converter offers?
# Guess:    float types keep the number. Quantized ones make their block NaN, since it shares one scale: a bad checkpoint shows.
# Real:     so it is for Q8_0, Q5_1 and Q4_0 (which keeps an infinity). For MXFP4 all 32 weights of the block are read back as 0, and
#           nothing is printed: the file has no number that is not finite.
# Matters:  a NaN that a training put into its checkpoint is gone from the converted file, with 31 healthy weights. A check of the file
#           finds nothing. MXFP4's own scale has a code for NaN (0xFF).
. "$(dirname "$0")/lib.sh"
environment gguf gguf==0.19.0 numpy==2.4.6
cat >"$work/program.py" <<'P'
import warnings
import numpy as np
from gguf import quants, GGMLQuantizationType as Type
warnings.simplefilter("ignore")
healthy = np.linspace(-1, 1, 256, dtype=np.float32).reshape(1, 256)
for name, bad in (("NaN", np.nan), ("infinity", np.inf)):
    weights = healthy.copy()
    weights[0, 5] = bad
    for t in (Type.BF16, Type.Q8_0, Type.Q5_1, Type.Q4_0, Type.MXFP4):
        back = quants.dequantize(quants.quantize(weights, t), t)
        print(f"{name}, {t.name}: read back as {back[0, 5]}; in its block {np.sum(~np.isfinite(back[0, :32]))} are not finite and "
              f"{np.sum(back[0, :32] == 0)} are 0; in the other blocks {np.sum(~np.isfinite(back[0, 32:]))} are not finite")
P
"$python" "$work/program.py" >"$work/seen" 2>&1
expect_output "$work/seen" <<'S'
NaN, BF16: read back as nan; in its block 1 are not finite and 0 are 0; in the other blocks 0 are not finite
NaN, Q8_0: read back as nan; in its block 32 are not finite and 0 are 0; in the other blocks 0 are not finite
NaN, Q5_1: read back as nan; in its block 32 are not finite and 0 are 0; in the other blocks 0 are not finite
NaN, Q4_0: read back as nan; in its block 32 are not finite and 0 are 0; in the other blocks 0 are not finite
NaN, MXFP4: read back as 0.0; in its block 0 are not finite and 32 are 0; in the other blocks 0 are not finite
infinity, BF16: read back as inf; in its block 1 are not finite and 0 are 0; in the other blocks 0 are not finite
infinity, Q8_0: read back as nan; in its block 32 are not finite and 0 are 0; in the other blocks 0 are not finite
infinity, Q5_1: read back as nan; in its block 32 are not finite and 0 are 0; in the other blocks 0 are not finite
infinity, Q4_0: read back as inf; in its block 32 are not finite and 0 are 0; in the other blocks 0 are not finite
infinity, MXFP4: read back as 0.0; in its block 0 are not finite and 32 are 0; in the other blocks 0 are not finite
S
