#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks: all_reduce and broadcast of a view with gaps, such as every second element or some columns.
#
# Question: what is in the view, and in the elements between its own, after the call?
# Guess:    the reduced view and untouched neighbours; or an error, as send and recv raise ("has to be contiguous").
# Real:     the call takes as many elements of memory as the view has, from its first one on, gaps included. So half of the view is
#           not reduced, and elements that do not belong to it are changed. Nothing is said.
# Matters:  weight[:, :k] or buffer[::2] handed to a collective corrupts the rest of the weight, and looks almost right.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
whole = torch.arange(8.)
view = whole[::2]
dist.all_reduce(view)
if rank == 0:
    print("all_reduce of every second:", view.tolist(), "of", whole.tolist(), flush=True)
whole = torch.ones(3, 4)
dist.all_reduce(whole[:, :2])
if rank == 0:
    print("all_reduce of two columns:", whole.tolist(), flush=True)
whole = torch.arange(8.) if rank == 0 else torch.zeros(8)
dist.broadcast(whole[::2], 0)
if rank == 1:
    print("broadcast of every second:", whole.tolist(), flush=True)
try:
    dist.send(whole[::2], 1) if rank == 0 else dist.recv(whole[::2], 0)
except RuntimeError as error:
    if rank == 1:
        print("recv:", error, flush=True)
P
run_two_ranks "$work/program.py"
sort "$work/seen" >"$work/sorted"
expect_output "$work/sorted" <<'S'
all_reduce of every second: [0.0, 4.0, 4.0, 6.0] of [0.0, 2.0, 4.0, 6.0, 4.0, 5.0, 6.0, 7.0]
all_reduce of two columns: [[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
broadcast of every second: [0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0]
recv: input tensor has to be contiguous
S
