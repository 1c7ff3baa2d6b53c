#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: the sum of bool tensors.
#
# Question: each rank has a flag that is True. all_reduce() with its default operation is applied to the flag eight times. What is it?
# Guess:    True: a bool is 0 or 1, and True + True is True.
# Real:     False. The bytes are added: 2, 4, 8 ... 128, 0. Until then the flag is True for PyTorch and NumPy, but its byte is not 1:
#           two equal flags differ in their bytes and checksums. (By the same sum one all_reduce() is enough on 256 ranks: not run.)
# Matters:  "has any rank seen an overflow?" by all_reduce(flag) is answered with no when the flag has been reduced too often.
#           ReduceOp.MAX and BOR are right.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist, zlib
from both_ranks import show
dist.init_process_group("gloo")
flag = torch.tensor([True])
for times in range(1, 9):
    dist.all_reduce(flag)
    if times in (1, 7, 8):
        show(f"all_reduce() {times} times, flag and byte", (flag.item(), flag.view(torch.uint8).item()))
flag = torch.tensor([True])
dist.all_reduce(flag)
show("after one: equal to True", torch.equal(flag, torch.tensor([True])))
show("after one: the same CRC-32 as True", zlib.crc32(flag.numpy()) == zlib.crc32(torch.tensor([True]).numpy()))
for name in "MAX", "BOR":
    flag = torch.tensor([True])
    for _ in range(8):
        dist.all_reduce(flag, getattr(dist.ReduceOp, name))
    show(f"{name} 8 times", flag.item())
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
all_reduce() 1 times, flag and byte: (True, 2) and (True, 2)
all_reduce() 7 times, flag and byte: (True, 128) and (True, 128)
all_reduce() 8 times, flag and byte: (False, 0) and (False, 0)
after one: equal to True: True and True
after one: the same CRC-32 as True: False and False
MAX 8 times: True and True
BOR 8 times: True and True
S
