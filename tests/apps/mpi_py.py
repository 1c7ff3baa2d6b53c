# SPDX-License-Identifier: Apache-2.0
"""A Python program over mpi4py and numpy: array buffers, pickled objects, requests, v-forms."""
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
right, left = (rank + 1) % ranks, (rank - 1) % ranks
checks = 0


def check(ok, what):
    global checks
    checks += 1
    if not ok:
        print(f"mpi_py: rank {rank}: WRONG: {what}", file=sys.stderr, flush=True)
        comm.Abort(1)


def reduce_gradients(step):
    grad = np.arange(1000, dtype=np.float32) + rank + step
    total = np.empty_like(grad)
    comm.Allreduce(grad, total, op=MPI.SUM)
    want = ranks * (np.arange(1000) + step) + ranks * (ranks - 1) // 2
    check(np.array_equal(total, want.astype(np.float32)), "Allreduce")
    comm.Allreduce(MPI.IN_PLACE, grad, op=MPI.MAX)
    check(grad[0] == ranks - 1 + step, "Allreduce in place")


def exchange(step):
    out = np.full((4, 25), rank * 1.5 + step)
    inp = np.zeros_like(out)
    requests = [comm.Irecv(inp, left, step), comm.Isend(out, right, step)]
    MPI.Request.Waitall(requests)
    check((inp == left * 1.5 + step).all(), "Irecv")


def all_to_all(step):
    counts = [(rank + r) % 3 for r in range(ranks)]
    displs = [sum(counts[:r]) + r for r in range(ranks)]  # a gap of one after each block
    room = sum(counts) + ranks
    out = np.full(room, rank, dtype=np.int32)
    inp = np.full(room, -1, dtype=np.int32)
    comm.Alltoallv([out, (counts, displs), MPI.INT], [inp, (counts, displs), MPI.INT])
    want = np.full(room, -1)
    for r in range(ranks):
        want[displs[r]:displs[r] + counts[r]] = r
    check(np.array_equal(inp, want), "Alltoallv")


def objects(step):
    state = comm.bcast({"step": step, "lr": 0.1} if rank == 0 else None, root=0)
    check(state == {"step": step, "lr": 0.1}, "bcast of an object")
    check(comm.allgather(rank) == list(range(ranks)), "allgather of objects")
    check(comm.allreduce(rank) == ranks * (ranks - 1) // 2, "allreduce of objects")


def groups():
    half = comm.Split(rank % 2, rank)
    x = np.array([1.0 if rank % 2 else 2.0, np.nan])
    half.Allreduce(MPI.IN_PLACE, x)
    check(x[0] == half.size * (1.0 if rank % 2 else 2.0) and np.isnan(x[1]), "Allreduce on a half")
    half.Free()


for n in range(10):
    reduce_gradients(n)
    exchange(n)
    all_to_all(n)
    objects(n)
groups()
sys.stdout.write(f"[{rank}] mpi_py: ok, {checks} checks\n")  # print() would write the line end by itself
sys.stdout.flush()
