#!/usr/bin/env bash
# MindSpore 2.10.0 (CPU): operators on float32 arrays with one NaN.
#
# Question: what do max, maximum, relu, clamp, softmax, sort and clip_by_global_norm make of a NaN?
# Guess:    what NumPy and PyTorch make of it: NaN is the maximum, passes through relu and clamp, and fills a softmax.
# Real:     max and min have it only if it is the first element. relu, clamp and maximum replace it by a number. softmax has the NaN
#           in its place and 0 in the others. sort leaves numbers unsorted around it. clip_by_global_norm clips nothing, neither
#           the array with the NaN nor the other one, whose norm is 5.
# Matters:  a NaN in an activation disappears in the next relu, so the training goes on; "the maximum is finite" shows nothing.
#           isfinite and all_finite are right.
. "$(dirname "$0")/lib.sh"
environment mindspore mindspore==2.10.0
cat >"$work/program.py" <<'P'
import numpy as np
import mindspore as ms
from mindspore import Tensor, ops
ms.set_device("CPU")
nan = float("nan")
array = lambda *values: Tensor(np.array(values, np.float32))
show = lambda name, value: print(f"{name}: {value.asnumpy().tolist()}")
for values in (nan, 1, 3), (1, nan, 3), (1, 3, nan):
    show(f"max of {values}", array(*values).max())
some = array(1, nan, 3, 0)
show("relu of (1, nan, 3, 0)", ops.relu(some))
show("clamp to 0 ... 2", ops.clamp(some, 0.0, 2.0))
show("maximum with 2", ops.maximum(some, array(2)))
show("softmax", ops.softmax(some))
show("sort", ops.sort(some)[0])
show("isfinite", ops.isfinite(some))
clipped = ops.clip_by_global_norm((array(nan, 1), array(3, 4)), 1.0)
show("clip_by_global_norm of (nan, 1) and (3, 4) to 1", clipped[0])
show("  and", clipped[1])
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
grep -v WARNING "$work/seen" >"$work/lines"
expect_output "$work/lines" <<'S'
max of (nan, 1, 3): nan
max of (1, nan, 3): 3.0
max of (1, 3, nan): 3.0
relu of (1, nan, 3, 0): [1.0, 0.0, 3.0, 0.0]
clamp to 0 ... 2: [1.0, 0.0, 2.0, 0.0]
maximum with 2: [2.0, 2.0, 3.0, 2.0]
softmax: [0.0, nan, 0.0, 0.0]
sort: [0.0, 1.0, nan, 3.0]
isfinite: [True, False, True, True]
clip_by_global_norm of (nan, 1) and (3, 4) to 1: [nan, 1.0]
  and: [3.0, 4.0]
S
