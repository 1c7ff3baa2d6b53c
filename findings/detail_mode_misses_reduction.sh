#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks, TORCH_DISTRIBUTED_DEBUG=DETAIL: an all_reduce with SUM on rank 0 and MAX on rank 1.
#
# Question: the DETAIL mode compares what the ranks call before each collective. Does it see that their reductions differ?
# Guess:    yes: it refuses other shapes and other types, and the reduction is as much a part of the call.
# Real:     no. The call succeeds, and both ranks end with the same wrong tensor: half of it is the sum, half the maximum.
#           Since the ranks agree, no comparison of replicas finds it either.
# Matters:  after a clean run in DETAIL mode one would look elsewhere.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from both_ranks import show
dist.init_process_group("gloo")
rank = dist.get_rank()
tensor = torch.full((8,), rank + 1.)
dist.all_reduce(tensor, op=dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM)
show("SUM and MAX of 1 and 2", tensor.tolist())
try:
    dist.all_reduce(torch.ones(8, dtype=torch.int32 if rank else torch.float32))
    seen = "no error"
except RuntimeError as error:
    seen = str(error)[:45]
show("float32 and int32", seen)
P
export TORCH_DISTRIBUTED_DEBUG=DETAIL
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
SUM and MAX of 1 and 2: [3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0] and [3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0]
float32 and int32: Detected mismatch between collectives on rank and Detected mismatch between collectives on rank
S
