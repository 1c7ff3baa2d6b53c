#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks: numbers taken out of a DTensor, and of the norm that clip_grad_norm_ returns under FSDP2.
#
# Question: total = sharded.sum(); what is total.item(), and `if sharded.isfinite().all():`, on each rank?
# Guess:    the number of the whole tensor, on every rank; or an error, since a partial sum is not a number yet.
# Real:     each rank's own part, without a warning. So two ranks take different branches. What clip_grad_norm_ returns is whole
#           for order 2 and the rank's own for order infinity. full_tensor().item() is right in each case.
# Matters:  logged losses and norms are those of one rank; ranks that branch on such a number part, and the next collective hangs.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from both_ranks import show
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
mesh = init_device_mesh("cpu", (2,))
rank = dist.get_rank()
parts = distribute_tensor(torch.tensor([1., 2., 3., float("inf")]), mesh, [Shard(0)])
show("sum().item()", parts.sum().item())
show("mean().item()", parts.mean().item())
show("sum().full_tensor().item()", parts.sum().full_tensor().item())
show("bool(isfinite().all())", bool(parts.isfinite().all()))
for order in 2.0, float("inf"):
    model = nn.Linear(2, 2, bias=False)
    nn.init.ones_(model.weight)
    fully_shard(model, mesh=mesh)
    (model(torch.ones(1, 2)) * torch.tensor([1., 3.])).sum().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 100.0, norm_type=order)
    show(f"clip_grad_norm_(norm_type={order}).item()", round(norm.item(), 3))
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
sum().item(): 3.0 and inf
mean().item(): 1.5 and inf
sum().full_tensor().item(): inf and inf
bool(isfinite().all()): True and False
clip_grad_norm_(norm_type=2.0).item(): 4.472 and 4.472
clip_grad_norm_(norm_type=inf).item(): 1.0 and 3.0
S
