#!/usr/bin/env bash
# make demo: a real data-parallel training on 4 MPI ranks that knows nothing of libprobe, recorded by the preload alone,
# and the report of what it did. Usage: tests/demo.sh BUILD-DIR [options of train_digits]
set -eu
B=$(cd "${1:-build}" && pwd)
shift || true
out=$B/demo_output
rm -rf "$out"

shown() { # PATH: as it is typed here
	realpath --relative-to=. "$1"
}

# Whichever MPI is there.
if command -v mpirun.openmpi >/dev/null && [ -x "$B/apps/openmpi/train_digits" ]; then
	mpi=openmpi
	run=(mpirun.openmpi --oversubscribe -n 4)
	[ "$(id -u)" != 0 ] || run+=(--allow-run-as-root)
	export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
elif command -v mpirun.mpich >/dev/null && [ -x "$B/apps/mpich/train_digits" ]; then
	mpi=mpich
	run=(mpirun.mpich -n 4)
else
	echo "make demo: no MPI found; install one with: make deps" >&2
	exit 1
fi

# The training calls MPI_Reduce (its loss) once per step: that makes a step mark without touching the program.
run+=("$(shown "$B/apps/$mpi/train_digits")" "$@")
echo "\$ LD_PRELOAD=$(shown "$B/libprobe.so") PROBE_OUTPUT_DIR=$(shown "$out") PROBE_STEP_MARKER=MPI_Reduce \\"
echo "    ${run[*]}"
LD_PRELOAD="$B/libprobe.so" PROBE_OUTPUT_DIR="$out" PROBE_STEP_MARKER=MPI_Reduce "${run[@]}"

echo
echo "\$ ls -x $(shown "$out")/rank0"
ls -x "$out/rank0"
echo
echo "\$ $(shown "$B/probe") report --top 3 $(shown "$out")"
"$B/probe" report --top 3 "$(shown "$out")"

echo
echo "To go on with README's first run: export PATH=$B:$B/apps/$mpi:\$PATH"
