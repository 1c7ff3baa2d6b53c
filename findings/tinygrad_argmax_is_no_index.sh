#!/usr/bin/env bash
# tinygrad 0.14.0 (its device PYTHON; CPU gives the same): tensors of three numbers of which one is NaN.
#
# Question: what are max(), argmax(), sort(), relu() and the maximum with another tensor?
# Guess:    NaN as in PyTorch and NumPy, or the largest number; argmax 0, 1 or 2; sort has the three numbers in some order.
# Real:     a NaN in the first place stays, in another it is lost. With the NaN first argmax is 3, no index of the tensor. sort loses numbers
#           and invents some: NaN, 1, 2 becomes three NaN, and 1, 2, NaN becomes 1, 2, inf. relu of NaN is 0. maximum keeps the NaN of
#           its first argument only.
# Matters:  a NaN in logits gives a token that does not exist; a sorted or ranked list of losses is another set of numbers.
. "$(dirname "$0")/lib.sh"
environment tinygrad tinygrad==0.14.0
cat >"$work/program.py" <<'P'
from tinygrad import Tensor
nan = float("nan")
for values in ([nan, 1, 2], [1, nan, 2], [1, 2, nan]):
    t = Tensor([float(v) for v in values])
    print(f"{values}: max {t.max().item()}, argmax {t.argmax().item()}, sort {t.sort()[0].tolist()}, relu {t.relu().tolist()}")
print("maximum of 1, NaN and NaN, 1:", Tensor([1, nan]).maximum(Tensor([nan, 1])).tolist())
P
DEV=PYTHON "$python" "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
[nan, 1, 2]: max nan, argmax 3, sort [nan, nan, nan], relu [0.0, 1.0, 2.0]
[1, nan, 2]: max 2.0, argmax 2, sort [1.0, 1.0, 2.0], relu [1.0, 0.0, 2.0]
[1, 2, nan]: max 2.0, argmax 1, sort [1.0, 2.0, inf], relu [1.0, 2.0, 0.0]
maximum of 1, NaN and NaN, 1: [1.0, nan]
S
