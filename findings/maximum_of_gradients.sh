#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: the gradient of the differentiable all_reduce.
#
# Question: torch.distributed.nn.all_reduce() of x = 2 and 5 (rank 0), 3 and 4 (rank 1), then a loss on each rank: 1 * (y0 + 10 y1) on
#           rank 0, 2 * (y0 + 10 y1) on rank 1. What is the gradient of x for SUM, MAX, MIN and PRODUCT?
# Guess:    SUM: 3 and 30 on both ranks. MAX: 3 for the rank whose number was the maximum and 0 for the other. PRODUCT: 3 and 30 times
#           the number of the other rank. Or an error for what is not implemented.
# Real:     for every operation the ranks' incoming gradients are reduced *with that operation*: MAX gives 2 and 20 to both ranks, MIN
#           1 and 10, PRODUCT 2 and 200. No error. Only SUM is a derivative.
# Matters:  a loss with a maximum over ranks (a softmax over sharded classes, an infinity norm over ranks) is trained in a wrong direction, and all
#           ranks have the same wrong numbers: no comparison between ranks shows it.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
import torch.distributed.nn as differentiable
from both_ranks import show
dist.init_process_group("gloo")
rank = dist.get_rank()
for name in "SUM", "MAX", "MIN", "PRODUCT":
    x = torch.tensor([2.0 + rank, 5.0 - rank], requires_grad=True)
    y = differentiable.all_reduce(x, op=getattr(dist.ReduceOp, name))
    ((1 + rank) * (y[0] + 10 * y[1])).backward()
    show(f"{name}, y {y.tolist()}, gradient", x.grad.tolist())
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
SUM, y [5.0, 9.0], gradient: [3.0, 30.0] and [3.0, 30.0]
MAX, y [3.0, 5.0], gradient: [2.0, 20.0] and [2.0, 20.0]
MIN, y [2.0, 4.0], gradient: [1.0, 10.0] and [1.0, 10.0]
PRODUCT, y [6.0, 20.0], gradient: [2.0, 200.0] and [2.0, 200.0]
S
