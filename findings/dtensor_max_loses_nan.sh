#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks: maxima of a DTensor, and FSDP2's gradients clipped by their largest element.
#
# Question: one element of a tensor that is sharded over two ranks is NaN. What are its max(), its norm of order infinity, and
#           what does clip_grad_norm_(norm_type=inf, error_if_nonfinite=True) say?
# Guess:    NaN, as for a plain tensor; and the clipping raises.
# Real:     only if rank 0 holds the NaN. From rank 1 it is lost: the maximum of the shards is taken with gloo's MAX, which keeps
#           its first operand when a comparison is false. argmax() still finds it. The clipping raises nothing, and the NaN goes into
#           the optimizer. The norm of order 2 is a sum and has the NaN.
# Matters:  a guard against non-finite gradients that works in a test with the NaN on rank 0 does nothing for other ranks.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
mesh = init_device_mesh("cpu", (2,))
rank = dist.get_rank()
def show(*words):
    if rank == 0:
        print(*words, flush=True)
for bad in 0, 1:
    whole = torch.arange(4.)
    whole[2 * bad] = float("nan")
    parts = distribute_tensor(whole, mesh, [Shard(0)])
    norm = lambda order: torch.linalg.vector_norm(parts, order).full_tensor().item()
    show(f"NaN on rank {bad}: max {parts.max().full_tensor().item()}, norm of order inf {norm(float('inf'))}, of order 2 {norm(2)},",
         f"argmax {parts.argmax().full_tensor().item()}; plain tensor: max {whole.max().item()}")
    torch.manual_seed(0)
    model = nn.Linear(4, 4, bias=False)
    fully_shard(model, mesh=mesh)
    model(torch.ones(2, 4)).sum().backward()
    if rank == bad:
        model.weight.grad.to_local()[0, 0] = float("nan")
    try:
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0, norm_type=float("inf"), error_if_nonfinite=True)
        show("  clip_grad_norm_: no error, norm", norm.full_tensor().item())
    except RuntimeError:
        show("  clip_grad_norm_: RuntimeError")
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
NaN on rank 0: max nan, norm of order inf nan, of order 2 nan, argmax 0; plain tensor: max nan
  clip_grad_norm_: RuntimeError
NaN on rank 1: max 1.0, norm of order inf 1.0, of order 2 nan, argmax 2; plain tensor: max nan
  clip_grad_norm_: no error, norm 2.0
S
