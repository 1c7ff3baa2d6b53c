#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks: tensors after an all_reduce that raised, and on ranks that are not the root of a reduce.
#
# Question: what is in the tensor after (a) all_reduce with AVG of integers, which is refused, (b) reduce to rank 0, on rank 1,
#           (c) SUM of bool?
# Guess:    (a) what was in it, (b) what was in it, (c) True, stored as 1.
# Real:     (a) the sum: the error is raised after it was made. Who catches it and goes on has counted twice.
#           (b) a part of the finished result: the upper half here, so the tensor holds two kinds of numbers.
#           (c) True, but stored as the byte 2: equal to True for ==, another checksum.
# Matters:  comparing or hashing the ranks' tensors after such calls shows differences that are no fault of the program.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from both_ranks import show
dist.init_process_group("gloo")
rank = dist.get_rank()
tensor = torch.full((3,), rank + 1)
try:
    dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
    show("AVG of integers: no error", tensor.tolist())
except RuntimeError:
    show("AVG of integers 1 and 2: RuntimeError, left", tensor.tolist())
tensor = torch.full((4,), rank + 1.)
dist.reduce(tensor, 0)
show("reduce of 1 and 2 to rank 0", tensor.tolist())
tensor = torch.tensor([True])
dist.all_reduce(tensor)
show("bool SUM: equal to True, byte", (bool(tensor == True), tensor.view(torch.uint8).item()))
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
AVG of integers 1 and 2: RuntimeError, left: [3, 3, 3] and [3, 3, 3]
reduce of 1 and 2 to rank 0: [3.0, 3.0, 3.0, 3.0] and [2.0, 2.0, 3.0, 3.0]
bool SUM: equal to True, byte: (True, 2) and (True, 2)
S
