#!/usr/bin/env bash
# Intel MPI, which has MPICH's binary interface, other habits, and the standard's interface besides: as newer_mpi.sh does with
# others. Its own: it starts no further processes on one machine, and its collectives that last forever do last long here.
# timeout: 6000
export MPIS='intel intelabi'
. "$(dirname "$0")/newer_mpi.sh"
