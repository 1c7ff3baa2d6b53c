#!/usr/bin/env bash
# mpi4py 4.1.2 with MPICH 5.0.2 and Open MPI 5.0.11: allreduce() of Python numbers, of which one is NaN.
#
# Question: 4 ranks have 0, 1, 2 and 3, one of them NaN instead. What is their maximum by comm.allreduce(x, op=MPI.MAX)?
# Guess:    NaN, or the largest of the other numbers.
# Real:     NaN only if rank 0 has it. Else a number that is not the largest: 1 of 0, 1, NaN and 3. The lower-case methods reduce in
#           mpi4py, pair by pair, by a comparison that keeps the left number where one of the two is NaN: 1 of 0 and 1, NaN of NaN
#           and 3, and 1 of these two. The 3 is dropped with the NaN.
# Matters:  the largest loss or gradient norm of all ranks, logged that way, is a plausible number that is neither NaN nor the
#           largest, and the rank with the largest is not seen. Allreduce() of an array is another operation, that of the MPI.
. "$(dirname "$0")/lib.sh"
cat >"$work/program.py" <<'P'
import math
from mpi4py import MPI
comm = MPI.COMM_WORLD
for bad in range(comm.size):
    mine = math.nan if comm.rank == bad else float(comm.rank)
    all_of_them = comm.gather(mine)
    both = comm.allreduce(mine, op=MPI.MAX), comm.allreduce(mine, op=MPI.MIN)
    same = len(set(map(str, comm.allgather(both)))) == 1
    if comm.rank == 0:
        print(f"{all_of_them}: maximum {both[0]}, minimum {both[1]}, {'on all ranks' if same else 'ranks differ'}", flush=True)
P
run_both_mpis "$work/program.py"
expect_output "$work/seen" <<'S'
MPICH
[nan, 1.0, 2.0, 3.0]: maximum nan, minimum nan, on all ranks
[0.0, nan, 2.0, 3.0]: maximum 3.0, minimum 0.0, on all ranks
[0.0, 1.0, nan, 3.0]: maximum 1.0, minimum 0.0, on all ranks
[0.0, 1.0, 2.0, nan]: maximum 2.0, minimum 0.0, on all ranks
Open MPI
[nan, 1.0, 2.0, 3.0]: maximum nan, minimum nan, on all ranks
[0.0, nan, 2.0, 3.0]: maximum 3.0, minimum 0.0, on all ranks
[0.0, 1.0, nan, 3.0]: maximum 1.0, minimum 0.0, on all ranks
[0.0, 1.0, 2.0, nan]: maximum 2.0, minimum 0.0, on all ranks
S
