#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_mutations.sh GENWRAP FOLDER SPEC COMPILER...: puts one mistake at a time into SPEC.yaml (mpi, nccl) and checks that check_spec.sh
# notices it with at least one of the compilers, which may have arguments.
gen=$1 dir=$2 spec=$3
shift 3
here=$(dirname "$0") apis=configs/apis
mkdir -p "$dir"
cp $apis/kinds.yaml "$dir/"

# row | sed expression within it
mpi='
MPI_Allreduce|s/int count/MPI_Aint count/
MPI_Allreduce|s/const void \*send/void *send/
MPI_Allreduce|s/MPI_Op op, MPI_Comm comm/MPI_Comm comm, MPI_Op op/
MPI_Bcast|s/int count, MPI_Datatype dtype/MPI_Datatype dtype, int count/
MPI_Bcast|s/int count/int x/; s/int root/int count/; s/int x/int root/
MPI_Reduce|s/void \*recv/void **recv/
MPI_Send|s/int peer, int tag/int tag, int peer/
MPI_Sendrecv|s/int peer/int x/; s/int rpeer/int peer/; s/int x/int rpeer/
MPI_Sendrecv|s/int tag/int x/; s/int rtag/int tag/; s/int x/int rtag/
MPI_Alltoallv|s/scounts/x/; s/sdispls/scounts/; s/\bx\b/sdispls/
MPI_Alltoall|s/scount/x/; s/rcount/scount/; s/int x/int rcount/
MPI_Alltoallw|s/const MPI_Datatype rdtypes/const int rdtypes/
MPI_Neighbor_alltoallw|s/MPI_Aint sdispls/int sdispls/
MPI_Wait|s/"int (/"void (/
MPI_Test|s/, MPI_Status \*status//
MPI_Waitsome|s/outcount, int indices\[\]/indices, int outcount[]/
MPI_Comm_split|s/int color, int _key/int _key, int color/
MPI_Comm_idup|s/MPI_Comm \*newcomm, MPI_Request \*request/MPI_Request *request, MPI_Comm *newcomm/
MPI_Intercomm_create|s/MPI_Comm comm/MPI_Comm x/; s/MPI_Comm peercomm/MPI_Comm comm/; s/MPI_Comm x/MPI_Comm peercomm/
I|s/MPI_Request \*request/MPI_Request request/
init|s/MPI_Info _info, //
c|s/rcounts: "const MPI_Count \*"/rcounts: "const int *"/
c|s/count: MPI_Count/count: int/
MPI_FLOAT|s/float32/float64/
MPI_C_DOUBLE_COMPLEX|s/complex128/complex64/
MPI_LONG|s/ompi_mpi_long,/ompi_mpi_int,/
MPI_INT|s/0x4c000405/0x4c000406/
MPI_SUM|s/op_sum/op_prod/
MPI_PROC_NULL|s/-2, -1/-1, -2/
MPI_IN_PLACE|s/1, -1/0, -1/
STATUS_TAG|s/4, 12/8, 12/
STATUS_SIZE|s/24, 20/24, 24/
HANDLE_SIZE|s/8, 4/4, 4/
MPI_REQUEST_NULL|s/ompi_request_null/ompi_mpi_comm_null/
'
nccl='
ncclAllReduce|s/size_t count/int count/
ncclAllReduce|s/const void \*send/void *send/
ncclAllReduce|s/ncclRedOp_t op, ncclComm_t comm/ncclComm_t comm, ncclRedOp_t op/
ncclAllReduce|s/, cudaStream_t stream//
ncclAllGather|s/, ncclComm_t comm/, int _x, ncclComm_t comm/
ncclBroadcast|s/const void \*send, void \*recv/const void *recv, void *send/
ncclBroadcast|s/int root/size_t root/
ncclBcast|s/void \*buf/const void *buf/
ncclReduce|s/ncclDataType_t dtype, ncclRedOp_t op/ncclRedOp_t op, ncclDataType_t dtype/
ncclSend|s/int peer/ncclComm_t x/; s/ncclComm_t comm/int peer/; s/ncclComm_t x/ncclComm_t comm/
ncclRecv|s/ncclResult_t (/void (/
ncclGather|s/, int root//; s/gather/allgather/
ncclAlltoAll|s/ncclAlltoAll/ncclGather/; s/alltoall/gather/
ncclGroupStart|s/ ()/ (int _x)/
ncclGroupSimulateEnd|s/ncclSimInfo_t \*_info/void **_info/
ncclCommInitRank|s/int nranks, ncclUniqueId id/ncclUniqueId id, int nranks/
ncclCommInitRank|s/int nranks/int x/; s/int rank/int nranks/; s/int x/int rank/
ncclCommInitRankScalable|s/int rank, int nitems/int nitems, int rank/
ncclCommSplit|s/int color, int _key/int _key, int x/
ncclCommShrink|s/int \*items/long *items/
ncclCommGrow|s/const ncclUniqueId \*id/ncclUniqueId id/
ncclPutSignal|s/int peer/int x/; s/int tag/int peer/; s/int x/int tag/
ncclPutSignal|s/size_t _offset, int tag/int tag, size_t _offset/
ncclSignal|s/unsigned int _flags, //
ncclWaitSignal|s/int nitems, ncclWaitSignalDesc_t \*items/ncclWaitSignalDesc_t *items, int nitems/
ncclCommWindowRegister|s/ncclWindow_t \*newwin/ncclWindow_t win/; s/win_new, how: window/win_end/
ncclCommWindowDeregister|s/ncclWindow_t win/ncclWindow_t *winp/
ncclCommRevoke|s/int _flags/long _flags/
ncclCommDestroy|s/ncclComm_t comm/ncclComm_t *commp/
config|s/const ncclCollConfig_t/ncclCollConfig_t/
dtype|s/7: float32/7: float64/
dtype|s/0: int8, 1: uint8/0: uint8, 1: int8/
dtype|s/11: float8_e5m2/12: float8_e5m2/
redop|s/2: max, 3: min/2: min, 3: max/
types|s/struct(128)/struct(64)/
types|s/ncclComm_t: ptr/ncclComm_t: i32/
types|s/ncclResult_t: i32/ncclResult_t: i64/
'
eval "mutations=\$$spec"

# True if a compiler's header and $dir/$spec.yaml differ.
differs()
{
	for cc in "$@"; do
		command -v "${cc%% *}" >/dev/null || continue
		sh "$here/check_spec.sh" "$gen" "$dir/$spec.yaml" "$cc" "$dir/mutant" >"$dir/said" 2>&1 || return 0
	done
	return 1
}

cp $apis/$spec.yaml "$dir/"
if differs "$@"; then
	echo "check-specs-mutations: the spec itself differs: $(cat "$dir/said")"
	exit 1
fi
n=0 noticed=0
IFS='
'
for m in $mutations; do
	row=${m%%|*} edit=${m#*|}
	sed "/^ *$row: /{ $edit
	}" $apis/$spec.yaml >"$dir/$spec.yaml"
	if cmp -s $apis/$spec.yaml "$dir/$spec.yaml"; then
		echo "check-specs-mutations: nothing to change: $m"
		exit 1
	fi
	n=$((n + 1))
	if differs "$@"; then
		noticed=$((noticed + 1))
		[ -z "$SAY" ] || { echo "$m"; head -2 "$dir/said"; }
	else
		echo "check-specs-mutations: not noticed: $m"
	fi
done
echo "check-specs-mutations: $noticed of $n mistakes noticed"
[ $noticed -eq $n ]
