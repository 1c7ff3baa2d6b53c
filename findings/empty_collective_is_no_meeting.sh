#!/usr/bin/env bash
# MPICH 5.0.2 and Open MPI 5.0.11 (wheels of PyPI), mpi4py 4.1.2, 4 ranks on one host: collectives of 0 elements while rank 0 is late.
#
# Question: does a rank wait for one that is late, in a collective with nothing to move as in one with an element?
# Guess:    yes: all ranks call it, and it is implemented by the same algorithm.
# Real:     no. With 1 element rank 3 waits for rank 0 in all but Reduce and Gather, whose leaves may go on. With 0 elements it waits
#           in none of them, in both libraries.
# Matters:  an Allreduce or Bcast of an empty list is no meeting: it orders nothing, and a trace in which ranks leave it before the
#           last one came is right. Who used one as a barrier has none.
. "$(dirname "$0")/lib.sh"
cat >"$work/program.py" <<'P'
import time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
new = np.zeros
collectives = {
    "Bcast": lambda n: comm.Bcast(new(n), 0),
    "Reduce": lambda n: comm.Reduce(new(n), new(n), MPI.SUM, 0),
    "Allreduce": lambda n: comm.Allreduce(new(n), new(n), MPI.SUM),
    "Gather": lambda n: comm.Gather(new(n), new(n * size), 0),
    "Scatter": lambda n: comm.Scatter(new(n * size), new(n), 0),
    "Allgather": lambda n: comm.Allgather(new(n), new(n * size)),
    "Alltoall": lambda n: comm.Alltoall(new(n * size), new(n * size)),
    "Scan": lambda n: comm.Scan(new(n), new(n), MPI.SUM),
}
def outcome(call, n):
    """Rank 0 begins when rank 3 has left the collective, or after two seconds."""
    comm.Barrier()
    left = False
    if rank == 0:
        end = time.time() + 2
        while time.time() < end and not left:
            left = comm.Iprobe(size - 1, 9)
        call(n)
        comm.recv(source=size - 1, tag=9)
    else:
        call(n)
        if rank == size - 1:
            comm.send(None, 0, tag=9)
    return "goes on" if comm.bcast(left, 0) else "waits"
for name, call in collectives.items():
    one, none = outcome(call, 1), outcome(call, 0)
    if rank == 0:
        print(f"  {name}: rank 3 {one} with 1 element, {none} with 0", flush=True)
P
run_both_mpis "$work/program.py"
expect_output "$work/seen" <<'S'
MPICH
  Bcast: rank 3 waits with 1 element, goes on with 0
  Reduce: rank 3 goes on with 1 element, goes on with 0
  Allreduce: rank 3 waits with 1 element, goes on with 0
  Gather: rank 3 goes on with 1 element, goes on with 0
  Scatter: rank 3 waits with 1 element, goes on with 0
  Allgather: rank 3 waits with 1 element, goes on with 0
  Alltoall: rank 3 waits with 1 element, goes on with 0
  Scan: rank 3 waits with 1 element, goes on with 0
Open MPI
  Bcast: rank 3 waits with 1 element, goes on with 0
  Reduce: rank 3 goes on with 1 element, goes on with 0
  Allreduce: rank 3 waits with 1 element, goes on with 0
  Gather: rank 3 goes on with 1 element, goes on with 0
  Scatter: rank 3 waits with 1 element, goes on with 0
  Allgather: rank 3 waits with 1 element, goes on with 0
  Alltoall: rank 3 waits with 1 element, goes on with 0
  Scan: rank 3 waits with 1 element, goes on with 0
S
