#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: gradients of the largest element of a sharded DTensor.
#
# Question: 1, 2, 3 and 4 are sharded over two ranks, in this order or in the opposite one. What is the gradient of amax(), amin(), max(),
#           min(), and the norm of order infinity?
# Guess:    1 for the extreme, else 0, as for a plain tensor: no two elements are equal and nothing is NaN.
# Real:     the values are right. The gradients of amax(), amin() and the norm are right if the extreme is on rank 0. If it is on
#           rank 1 they are infinite for the extreme and NaN for all others. max() and min(), other functions in PyTorch, are right.
# Matters:  a penalty on the largest weight, or a scale taken by amax() in fake quantization, makes NaN of all weights in the first
#           step in which the extreme is on another rank. The loss is healthy, and a test with the extreme on rank 0 passes.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
for name, function in [("amax", torch.amax), ("amin", torch.amin), ("max", torch.max), ("min", torch.min),
                       ("norm of order infinity", lambda v: torch.linalg.vector_norm(v, float("inf")))]:
    for x in [1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]:
        sharded = distribute_tensor(torch.tensor(x), mesh, [Shard(0)]).requires_grad_()
        value = function(sharded)
        value.backward()
        seen = f"{name} of {x}: {value.full_tensor().item():g}, gradient {sharded.grad.full_tensor().tolist()}"
        if dist.get_rank() == 0:
            print(seen, flush=True)
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
amax of [1.0, 2.0, 3.0, 4.0]: 4, gradient [nan, nan, nan, inf]
amax of [4.0, 3.0, 2.0, 1.0]: 4, gradient [1.0, 0.0, 0.0, 0.0]
amin of [1.0, 2.0, 3.0, 4.0]: 1, gradient [1.0, 0.0, 0.0, 0.0]
amin of [4.0, 3.0, 2.0, 1.0]: 1, gradient [nan, nan, nan, inf]
max of [1.0, 2.0, 3.0, 4.0]: 4, gradient [0.0, 0.0, 0.0, 1.0]
max of [4.0, 3.0, 2.0, 1.0]: 4, gradient [1.0, 0.0, 0.0, 0.0]
min of [1.0, 2.0, 3.0, 4.0]: 1, gradient [1.0, 0.0, 0.0, 0.0]
min of [4.0, 3.0, 2.0, 1.0]: 1, gradient [0.0, 0.0, 0.0, 1.0]
norm of order infinity of [1.0, 2.0, 3.0, 4.0]: 4, gradient [nan, nan, nan, inf]
norm of order infinity of [4.0, 3.0, 2.0, 1.0]: 4, gradient [1.0, 0.0, 0.0, 0.0]
S
