#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU), process group gloo, 2 ranks: collectives on a tensor with the negative bit.
#
# Question: `z.conj().imag` is a real tensor that views z and holds a flag "negate when read". Do collectives that write
#           into such a tensor change it?
# Guess:    all_reduce of -2 on both ranks gives -4; broadcast and recv bring the 7 of rank 0.
# Real:     the three return without an error and leave the tensor as it was: they work on a copy. all_gather and
#           reduce_scatter, whose outputs are tensors of their own, are right. With the conjugate bit (z.conj() itself) PyTorch
#           raises an error instead.
# Matters:  a message that was received, and a sum that was made, are lost without a word.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
def show(name, tensor):
    values = [None, None]
    dist.all_gather_object(values, tensor.tolist())
    if rank == 0:
        print(name, *values, flush=True)
def negative_view():
    return torch.full((2,), 1 + 2j).conj().imag
seven = torch.full((2,), 7.0)
tensor = negative_view()
dist.all_reduce(tensor)
show("all_reduce of -2 and -2:", tensor)
tensor = negative_view() if rank else seven.clone()
dist.broadcast(tensor, 0)
show("broadcast of 7 from rank 0:", tensor)
tensor = negative_view() if rank else seven.clone()
dist.recv(tensor, 0) if rank else dist.send(tensor, 1)
show("7 sent to rank 1:", tensor)
parts = [torch.zeros(2), torch.zeros(2)]
dist.all_gather(parts, negative_view())
show("all_gather, part of rank 1:", parts[1])
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
all_reduce of -2 and -2: [-2.0, -2.0] [-2.0, -2.0]
broadcast of 7 from rank 0: [7.0, 7.0] [-2.0, -2.0]
7 sent to rank 1: [7.0, 7.0] [-2.0, -2.0]
all_gather, part of rank 1: [-2.0, -2.0] [-2.0, -2.0]
S
