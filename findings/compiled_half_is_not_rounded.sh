#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU), eager and torch.compile: conversions to a narrower type that a program asks for.
#
# Question: x.to(float16).float() of 150000 and of 29.1, (x.to(float16) * 2000) / 2000 of 500, x.to(int8) of 500 and of inf: are they
#           the same compiled?
# Guess:    up to the last digits; what is converted explicitly is rounded, and what overflows float16 is inf in both.
# Real:     compiled, the conversion to float16 or bfloat16 and back is taken out: 150000 stays, 29.1 is not rounded, and products that
#           overflow stay finite. int8 of 500 wraps to -12 in eager and is 127 compiled; of inf 0 and -128.
# Matters:  an overflow seen in eager is gone when one compiles to look closer, and simulated quantisation does nothing. Statistics of
#           a compiled and an eager run differ where both are right by their own rules.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch
cases = (
    ("through float16", lambda t: t.to(torch.float16).float() + 0, [150000.0, 29.1]),
    ("through bfloat16", lambda t: t.to(torch.bfloat16).float() + 0, [257.0]),
    ("2000 times in float16, and back", lambda t: (t.to(torch.float16) * 2000 / 2000).float(), [500.0]),
    ("int8", lambda t: (t + 0).to(torch.int8), [500.0, float("inf")]),
)
for name, function, values in cases:
    t = torch.tensor(values * 32)
    eager, compiled = (f(t)[:len(values)].tolist() for f in (function, torch.compile(function)))
    print(f"{name} of {values}: eager {[round(v, 4) for v in eager]}, compiled {[round(v, 4) for v in compiled]}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
through float16 of [150000.0, 29.1]: eager [inf, 29.0938], compiled [150000.0, 29.1]
through bfloat16 of [257.0]: eager [256.0], compiled [257.0]
2000 times in float16, and back of [500.0]: eager [inf], compiled [500.0]
int8 of [500.0, inf]: eager [-12, 0], compiled [127, -128]
S
