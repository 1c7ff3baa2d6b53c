#!/usr/bin/env bash
# PyTorch 2.13.0 with gloo, MPICH 5.0.2, Open MPI 5.0.11: the sum of buffers whose elements are all equal.
#
# Question: each of 4 ranks has a buffer that holds one float32 number in all places. Is the sum over the ranks one number in all places?
#           Tried with 200 sets of random numbers, and with buffers of 8 and of 100,000 elements. And: does DDP reach the same bits if
#           only the size of its buckets differs?
# Guess:    yes: all elements of one call are added in the same order. And so DDP does.
# Real:     with gloo about half of the sums differ from place to place: each part of a buffer is added up in an order that begins at
#           another rank, so the last bit depends on where an element lies. Two trainings with DDP that differ in the size of the
#           buckets alone part in the second step. Both MPIs have one number in all places here.
# Matters:  "bit for bit the same" needs the same buckets, flattening and sizes as well as the same data. A comparison of two runs shows
#           differences that no fault has caused.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy==2.4.6
cat >"$work/ddp.py" <<'P'
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
generator = torch.Generator().manual_seed(1)
for n in (8, 100000):
    parts = 0
    for _ in range(200):
        numbers = torch.rand(4, generator=generator)
        t = numbers[rank].repeat(n)
        dist.all_reduce(t)
        parts += t.unique().numel() > 1
    if rank == 0:
        print(f"gloo, {n} elements: {parts} of 200 sums differ from place to place", flush=True)
ends = []
for bucket in (25, 0.001):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(30, 30), torch.nn.Tanh(), torch.nn.Linear(30, 30))
    ddp = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=bucket)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    torch.manual_seed(rank)
    ends.append([])
    for step in range(4):
        optimizer.zero_grad()
        ddp(torch.rand(8, 30)).square().mean().backward()
        optimizer.step()
        ends[-1].append(torch.cat([p.detach().flatten() for p in net.parameters()]).clone())
if rank == 0:
    print(f"DDP, parameters after each step that differ: {', '.join('some' if (a != b).any() else 'none' for a, b in zip(*ends))}")
dist.destroy_process_group()
P
cat >"$work/mpi.py" <<'P'
import sys
import numpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
random = numpy.random.default_rng(1)
for n in (8, 100000):
    parts = 0
    for _ in range(200):
        numbers = random.random(4, numpy.float32)
        result = numpy.empty(n, numpy.float32)
        comm.Allreduce(numpy.full(n, numbers[comm.rank]), result)
        parts += len(numpy.unique(result)) > 1
    if comm.rank == 0:
        print(f"{n} elements: {parts} of 200 sums differ from place to place", flush=True)
P
run_both_mpis "$work/mpi.py"
environment torch torch==2.13.0 numpy==2.4.6
timeout 300 "$python" -W ignore -m torch.distributed.run --nproc-per-node 4 "$work/ddp.py" >>"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
MPICH
8 elements: 0 of 200 sums differ from place to place
100000 elements: 0 of 200 sums differ from place to place
Open MPI
8 elements: 0 of 200 sums differ from place to place
100000 elements: 0 of 200 sums differ from place to place
gloo, 8 elements: 98 of 200 sums differ from place to place
gloo, 100000 elements: 95 of 200 sums differ from place to place
DDP, parameters after each step that differ: none, some, some, some
S
