#!/usr/bin/env bash
# MPICH 5.0.2 and Open MPI 5.0.11 (wheels of PyPI), mpi4py 4.1.2, 4 ranks on one host: MPI_Allreduce of one element.
#
# Question: the standard says that all ranks get the same result. Does that hold to the bit for a minimum of -0.0 and 0.0,
#           and for MPI_MAX and MPI_MAXLOC where one rank contributes NaN?
# Guess:    whatever the result is, it is equal on all ranks.
# Real:     MPICH: no. Of the minimum one rank has another sign bit than the others. Of MPI_MAX one rank has the NaN or not.
#           Of MPI_MAXLOC the ranks name up to three different places. Each rank reduces in an order of its own, and these
#           operators keep the first operand when a comparison is false.
#           Open MPI: equal on all ranks here. MPI_MAX keeps a NaN of rank 0 and loses that of rank 3; MPI_MAXLOC names rank 3
#           in both cases, so the two operators disagree about the same numbers.
# Matters:  ranks that pick the winner by MAXLOC go on with different winners; checksums of results differ between ranks.
. "$(dirname "$0")/lib.sh"
cat >"$work/program.py" <<'P'
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank = comm.rank
def reduce(values, op, kind):
    result = np.empty_like(values)
    comm.Allreduce([values, kind], [result, kind], op)
    return result
def show(name, value):
    values = comm.gather(value, 0)
    if rank == 0:
        print(f"  {name}: {'equal on all ranks' if len(set(map(str, values))) == 1 else 'different'}: {values}", flush=True)
result = reduce(np.full(1, -0.0 if rank == 0 else 0.0), MPI.MIN, MPI.DOUBLE)
show("sign bit of MIN, -0.0 on rank 0", int(np.signbit(result[0])))
pair = np.dtype([("value", "f8"), ("rank", "i4")], align=True)
for bad in 0, 3:
    result = reduce(np.full(1, np.nan if rank == bad else float(rank)), MPI.MAX, MPI.DOUBLE)
    show(f"MAX, NaN on rank {bad}", float(result[0]))
    place = np.zeros(1, pair)
    place["value"], place["rank"] = np.nan if rank == bad else rank, rank
    show(f"rank of MAXLOC, NaN on rank {bad}", int(reduce(place, MPI.MAXLOC, MPI.DOUBLE_INT)["rank"][0]))
P
run_both_mpis "$work/program.py"
expect_output "$work/seen" <<'S'
MPICH
  sign bit of MIN, -0.0 on rank 0: different: [0, 0, 0, 1]
  MAX, NaN on rank 0: different: [3.0, 3.0, 3.0, nan]
  rank of MAXLOC, NaN on rank 0: different: [0, 3, 3, 3]
  MAX, NaN on rank 3: different: [nan, 2.0, 1.0, 2.0]
  rank of MAXLOC, NaN on rank 3: different: [2, 1, 2, 3]
Open MPI
  sign bit of MIN, -0.0 on rank 0: equal on all ranks: [1, 1, 1, 1]
  MAX, NaN on rank 0: equal on all ranks: [nan, nan, nan, nan]
  rank of MAXLOC, NaN on rank 0: equal on all ranks: [3, 3, 3, 3]
  MAX, NaN on rank 3: equal on all ranks: [2.0, 2.0, 2.0, 2.0]
  rank of MAXLOC, NaN on rank 3: equal on all ranks: [3, 3, 3, 3]
S
