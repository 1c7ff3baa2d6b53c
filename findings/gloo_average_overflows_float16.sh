#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: the average of equal float16 numbers.
#
# Question: each rank has 40000, which float16 can hold. What is their average by ReduceOp.AVG?
# Guess:    40000: an average lies between the least and the greatest number.
# Real:     inf. The ranks' numbers are added in float16 first. tensor.mean() of the same numbers is 40000, and
#           DistributedDataParallel, which divides before it adds, gives 40000 too.
# Matters:  a hand-written AVG of float16 gradients gives inf where DDP does not; a loss scaler then skips the step.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from both_ranks import show
dist.init_process_group("gloo")
same = torch.full((4,), 40000.0, dtype=torch.float16)
average = same.clone()
dist.all_reduce(average, dist.ReduceOp.AVG)
show("all_reduce(AVG)", average[0].item())
part = torch.empty(2, dtype=torch.float16)
dist.reduce_scatter_tensor(part, same, dist.ReduceOp.AVG)
show("reduce_scatter_tensor(AVG)", part[0].item())
show("mean() of both", torch.cat([same, same]).mean().item())
model = torch.nn.Linear(1, 1, bias=False, dtype=torch.float16)
parallel = torch.nn.parallel.DistributedDataParallel(model)
parallel(torch.full((1, 1), 40000.0, dtype=torch.float16)).sum().backward()
show("gradient under DistributedDataParallel", model.weight.grad.item())
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
all_reduce(AVG): inf and inf
reduce_scatter_tensor(AVG): inf and inf
mean() of both: 40000.0 and 40000.0
gradient under DistributedDataParallel: 40000.0 and 40000.0
S
