#!/usr/bin/env bash
# Open MPI 5.0.11 and MPICH 5.0.2 (wheels of PyPI), mpi4py 4.1.2, 4 ranks on one host: sums of float32 by two ways.
#
# Question: MPI_Allreduce, and MPI_Reduce to rank 0 followed by MPI_Bcast, of the same numbers: are the results equal to the bit?
# Guess:    equal: both are the sum of the same four numbers for each element, on the same ranks, in the same library.
# Real:     with MPICH they are. With Open MPI they are not: the two add in different orders.
# Matters:  a program that changes from the one to the other (to keep the sum on rank 0, say) is no longer reproducible to the bit, and
#           replicas of which some were updated each way part.
. "$(dirname "$0")/lib.sh"
cat >"$work/program.py" <<'P'
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
numbers = np.random.default_rng(comm.rank).standard_normal(1 << 20).astype(np.float32)
def allreduce(n):
    result = np.empty(n, np.float32)
    comm.Allreduce(numbers[:n], result)
    return result
def reduce_and_bcast(n):
    result = np.empty(n, np.float32)
    comm.Reduce(numbers[:n], result)
    comm.Bcast(result)
    return result
n = 1000
same = np.array_equal(allreduce(n), reduce_and_bcast(n))
if comm.rank == 0:
    print(f"  Allreduce and Reduce + Bcast of {n}: {'equal' if same else 'different'}", flush=True)
P
run_both_mpis "$work/program.py"
expect_output "$work/seen" <<'S'
MPICH
  Allreduce and Reduce + Bcast of 1000: equal
Open MPI
  Allreduce and Reduce + Bcast of 1000: different
S
