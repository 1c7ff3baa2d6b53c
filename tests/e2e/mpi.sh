# Running the MPI programs of tests/apps; sourced by tests/e2e/*.sh, from the repository's root. Needs $B, the build folder.
#
#   mpi_flavours                              the MPIs for which the programs are built: openmpi, mpich; or, where OTHER_MPI has a
#                                             name, that one alone, which lies in the folder OTHER_MPI_AT (tests/apps/apps.mk)
#   mpi_run FLAVOUR RANKS [NAME=VALUE ...] PROGRAM [ARGS]
#                                             runs a program of $B/apps/FLAVOUR (or any with a / in its name), killed
#                                             after $MPI_LIMIT (60) seconds; the variables reach the ranks only, not
#                                             mpirun: LD_PRELOAD=... preloads nothing but the program. MPICH passes lines on
#                                             in pieces, between those of other ranks: with MPI_RANK_FILES=FOLDER its ranks'
#                                             output goes into files there, out.* and err.*, and not to stdout and stderr
#   mpi_cc FLAVOUR ARGS                       its compiler
#   mpi_python FLAVOUR                        a Python whose mpi4py uses that MPI; fails where there is none

B=${B:-build}
export LC_ALL=C

# More ranks than cores: who waits, yields. Copies between processes need a right that containers do not always have.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
# All ranks are on this host; Open MPI 5.0.7 finds no way to a spawned one over an interface whose network is not reachable.
export OMPI_MCA_btl_tcp_if_include=lo
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

mpi_flavours() {
	local m
	if [ -n "${OTHER_MPI:-}" ]; then
		[ -x "$B/apps/$OTHER_MPI/mpi_collectives" ] && echo "$OTHER_MPI"
		return
	fi
	for m in openmpi mpich; do
		command -v mpirun.$m >/dev/null && [ -x "$B/apps/$m/mpi_collectives" ] && echo $m
	done
}

mpi_run() {
	local flavour=$1 ranks=$2 preload='' vars=() files=() prog at=''
	shift 2
	[ "$flavour" != "${OTHER_MPI:-}" ] || at=$OTHER_MPI_AT/bin
	while [[ $1 == *=* ]]; do
		case $1 in
		LD_PRELOAD=*) preload=${1#LD_PRELOAD=} ;;
		*) if [[ $flavour == openmpi* ]]; then vars+=(-x "$1"); else vars+=(-genv "${1%%=*}" "${1#*=}"); fi ;;
		esac
		shift
	done
	prog=$1
	shift
	[[ $prog == */* ]] || prog=$B/apps/$flavour/$prog
	[ -z "${MPI_RANK_FILES:-}" ] || files=(-outfile-pattern "$MPI_RANK_FILES/out.%g.%r" -errfile-pattern "$MPI_RANK_FILES/err.%g.%r")
	case $flavour in
	openmpi*)
		[ -z "$preload" ] || vars+=(-x "LD_PRELOAD=$preload")
		timeout -k 5 "${MPI_LIMIT:-150}" ${at:-mpirun.openmpi}${at:+/mpirun} --oversubscribe ${MPIRUN_OPTIONS:-} -n "$ranks" \
			"${vars[@]}" "$prog" "$@"
		;;
	intel*)
		[ -z "$preload" ] || vars+=(-genv LD_PRELOAD "$preload")
		I_MPI_ROOT=$OTHER_MPI_AT I_MPI_HYDRA_BOOTSTRAP=fork I_MPI_FABRICS=shm I_MPI_THREAD_YIELD=3 timeout -k 5 "${MPI_LIMIT:-150}" \
			"$at/mpiexec.hydra" -n "$ranks" ${files[@]+"${files[@]}"} "${vars[@]}" "$prog" "$@"
		;;
	*)
		vars+=(-genv LD_PRELOAD "${preload:+$preload:}$(realpath "$B/apps/mpich/libucxyield.so")")
		timeout -k 5 "${MPI_LIMIT:-150}" ${at:-mpirun.mpich}${at:+/mpiexec.hydra} -n "$ranks" ${files[@]+"${files[@]}"} \
			"${vars[@]}" "$prog" "$@"
		;;
	esac
}

mpi_cc() {
	local flavour=$1 options=()
	shift
	if [ "$flavour" != "${OTHER_MPI:-}" ]; then
		mpicc.$flavour "$@"
		return
	fi
	[[ $flavour != *abi ]] || options=(-DMPI_ABI)
	cc "-I$OTHER_MPI_AT/include" ${options[@]+"${options[@]}"} "$@" "-L$OTHER_MPI_AT/lib" "-Wl,-rpath,$OTHER_MPI_AT/lib" \
		-lmpi${options[0]+_abi}
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
