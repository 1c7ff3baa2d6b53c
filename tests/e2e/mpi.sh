# Running the MPI programs of tests/apps; sourced by tests/e2e/*.sh, from the repository's root. Needs $B, the build folder.
#
#   mpi_flavours                              the MPIs for which the programs are built: openmpi, mpich; or, where INTEL_MPI says in
#                                             which folder it lies, Intel's alone: intel
#   mpi_run FLAVOUR RANKS [NAME=VALUE ...] PROGRAM [ARGS]
#                                             runs a program of $B/apps/FLAVOUR (or any with a / in its name), killed
#                                             after $MPI_LIMIT (60) seconds; the variables reach the ranks only, not
#                                             mpirun: LD_PRELOAD=... preloads nothing but the program
#   mpi_python FLAVOUR                        a Python whose mpi4py uses that MPI; fails where there is none

B=${B:-build}
export LC_ALL=C

# More ranks than cores: who waits, yields. Copies between processes need a right that containers do not always have.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

mpi_flavours() {
	local m
	if [ -n "${INTEL_MPI:-}" ]; then
		[ -x "$INTEL_MPI/bin/mpiexec.hydra" ] && [ -x "$B/apps/intel/mpi_collectives" ] && echo intel
		return
	fi
	for m in openmpi mpich; do
		command -v mpirun.$m >/dev/null && [ -x "$B/apps/$m/mpi_collectives" ] && echo $m
	done
}

mpi_run() {
	local flavour=$1 ranks=$2 preload='' vars=() prog
	shift 2
	while [[ $1 == *=* ]]; do
		case $1 in
		LD_PRELOAD=*) preload=${1#LD_PRELOAD=} ;;
		*) if [ "$flavour" = openmpi ]; then vars+=(-x "$1"); else vars+=(-genv "${1%%=*}" "${1#*=}"); fi ;;
		esac
		shift
	done
	prog=$1
	shift
	[[ $prog == */* ]] || prog=$B/apps/$flavour/$prog
	if [ "$flavour" = intel ]; then
		[ -z "$preload" ] || vars+=(-genv LD_PRELOAD "$preload")
		I_MPI_ROOT=$INTEL_MPI I_MPI_HYDRA_BOOTSTRAP=fork I_MPI_FABRICS=shm timeout -k 5 "${MPI_LIMIT:-150}" \
			"$INTEL_MPI/bin/mpiexec.hydra" -n "$ranks" "${vars[@]}" "$prog" "$@"
	elif [ "$flavour" = openmpi ]; then
		[ -z "$preload" ] || vars+=(-x "LD_PRELOAD=$preload")
		timeout -k 5 "${MPI_LIMIT:-150}" mpirun.openmpi --oversubscribe -n "$ranks" "${vars[@]}" "$prog" "$@"
	else
		vars+=(-genv LD_PRELOAD "${preload:+$preload:}$(realpath "$B/apps/mpich/libucxyield.so")")
		timeout -k 5 "${MPI_LIMIT:-150}" mpirun.mpich -n "$ranks" "${vars[@]}" "$prog" "$@"
	fi
}

mpi_python() {
	local p library
	for p in /usr/bin/python3 python3; do
		library=$($p -c 'import numpy; from mpi4py import MPI; print(MPI.Get_library_version().strip(chr(0)))' 2>/dev/null) ||
			continue
		case $1/$library in
		openmpi/Open\ MPI* | mpich/MPICH*)
			echo $p
			return 0
			;;
		esac
	done
	return 1
}
