#!/usr/bin/env bash
# bitsandbytes 0.50.2 with PyTorch 2.13.0, on a CPU: the state of an 8-bit Adam after a gradient with one NaN.
#
# Question: one gradient of 5,000 is NaN in the second of four steps. What of it is in the parameter, and in the two moments that the
#           optimizer keeps in 8 bits? And what becomes of a NaN or an infinity in the conversion that they use, quantize_blockwise()?
# Guess:    NaN in the parameter and in both moments from then on, as with torch.optim.Adam; 8 bits have a code for it, or the block's
#           scale becomes NaN.
# Real:     NaN in the parameter only. The moments have no number that is not finite: a NaN is stored as a plain number of the block. An
#           infinity is not: it makes all 256 numbers of its block infinite or NaN.
# Matters:  who looks for the first NaN in the optimizer's state finds none, in memory and in a checkpoint; a sum of the state is plausible.
. "$(dirname "$0")/lib.sh"
environment bitsandbytes bitsandbytes==0.50.2 torch==2.13.0 numpy==2.4.6
cat >"$work/program.py" <<'P'
import torch
import bitsandbytes
from bitsandbytes.functional import dequantize_blockwise, quantize_blockwise
def is_bad(t):
    return int((~torch.isfinite(t)).sum())
def read(state, k):
    if state[f"state{k}"].dtype != torch.uint8:
        return state[f"state{k}"]
    return dequantize_blockwise(state[f"state{k}"], absmax=state[f"absmax{k}"], code=state[f"qmap{k}"], blocksize=256)
for make in (lambda p: bitsandbytes.optim.Adam([p], lr=0.1, optim_bits=32), lambda p: bitsandbytes.optim.Adam8bit([p], lr=0.1)):
    p = torch.nn.Parameter(torch.ones(5000))
    o = make(p)
    for step in range(4):
        p.grad = torch.linspace(1, 2, 5000)
        if step == 1:
            p.grad[3] = float("nan")
        o.step()
    s = o.state[p]
    print(f"{str(s['state1'].dtype)[6:]} moments: not finite are {is_bad(p)} parameter, {is_bad(read(s, 1))} and {is_bad(read(s, 2))} of the moments")
for name, bad in (("NaN", "nan"), ("infinity", "inf")):
    x = torch.linspace(-1, 1, 512)
    x[5] = float(bad)
    back = dequantize_blockwise(*quantize_blockwise(x, blocksize=256))
    print(f"{name} among 512 numbers: read back as {back[5].item():.3f}; {is_bad(back)} are not finite")
P
"$python" "$work/program.py" 2>/dev/null >"$work/seen"
expect_output "$work/seen" <<'S'
float32 moments: not finite are 1 parameter, 1 and 1 of the moments
uint8 moments: not finite are 1 parameter, 0 and 0 of the moments
NaN among 512 numbers: read back as -0.993; 0 are not finite
infinity among 512 numbers: read back as -inf; 256 are not finite
S
