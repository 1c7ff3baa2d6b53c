#!/usr/bin/env bash
# PyTorch 2.13.0 with gloo, and mpi4py 4.1.2 with MPICH 5.0.2: collectives of Python objects that hold a view of a tensor.
#
# Question: each rank gathers, from all, a row of 10 numbers out of a table of a million rows, by all_gather_object() and by mpi4py's
#           allgather(). How much is sent, and how much memory has what arrives?
# Guess:    some hundred bytes: the row, and what pickle adds.
# Real:     the table. A tensor is pickled with all of its storage, so each rank sends 40 MB and holds 40 MB of each other rank behind a
#           row of 40 bytes. A row of NumPy is pickled alone.
# Matters:  metrics that are gathered "as objects" are the slowest calls of a step and fill the memory of a large job: at 1,000 ranks 40 GB.
#           row.clone() is sent as 40 bytes.
. "$(dirname "$0")/lib.sh"
environment objects torch==2.13.0 numpy==2.4.6 mpich==5.0.2 mpi4py==4.1.2
cat >"$work/program.py" <<'P'
import os, pickle, sys
import numpy, torch
def sizes(gathered):
    return [o.untyped_storage().nbytes() if isinstance(o, torch.Tensor) else len(pickle.dumps(o)) for o in gathered]
table = torch.zeros(1000000, 10)
rows = {"a row": table[3], "its clone": table[3].clone(), "a row of NumPy": table.numpy()[3]}
if "MASTER_ADDR" in os.environ:
    import torch.distributed as dist
    dist.init_process_group("gloo")
    rank, name, gather = dist.get_rank(), "all_gather_object", lambda o: (lambda l: dist.all_gather_object(l, o) or l)([None, None])
else:
    from mpi4py import MPI
    rank, name, gather = MPI.COMM_WORLD.rank, "mpi4py's allgather", MPI.COMM_WORLD.allgather
for text, row in rows.items():
    got = gather(row)
    if rank == 0:
        print(f"{name} of {text}: {len(pickle.dumps(row))} bytes pickled; what arrived has {sizes(got)} bytes", flush=True)
if "MASTER_ADDR" in os.environ:
    dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
timeout 100 "${python%python}mpiexec" -n 2 "$python" "$work/program.py" >>"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
all_gather_object of a row: 40000409 bytes pickled; what arrived has [40000000, 40000000] bytes
all_gather_object of its clone: 437 bytes pickled; what arrived has [40, 40] bytes
all_gather_object of a row of NumPy: 188 bytes pickled; what arrived has [188, 188] bytes
mpi4py's allgather of a row: 40000409 bytes pickled; what arrived has [40000000, 40000000] bytes
mpi4py's allgather of its clone: 437 bytes pickled; what arrived has [40, 40] bytes
mpi4py's allgather of a row of NumPy: 188 bytes pickled; what arrived has [188, 188] bytes
S
