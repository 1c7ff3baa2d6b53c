/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NCCL's interface that the double and the test programs use, for machines without a real nccl.h; written
 * from NCCL's documentation. tests/e2e/test_nccl_real.sh builds the double with real ones.
 */
#ifndef TESTS_DOUBLES_NCCL_H
#define TESTS_DOUBLES_NCCL_H

#include <cuda_runtime.h>
#include <limits.h>

#define NCCL_VERSION_CODE 23100
#define NCCL_SPLIT_NOCOLOR -1
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_WIN_COLL_SYMMETRIC 0x01

typedef struct ncclComm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;
typedef enum {
	ncclSuccess,
	ncclUnhandledCudaError,
	ncclSystemError,
	ncclInternalError,
	ncclInvalidArgument,
	ncclInvalidUsage,
	ncclRemoteError,
	ncclInProgress
} ncclResult_t;
typedef enum {
	ncclInt8,
	ncclUint8,
	ncclInt32,
	ncclUint32,
	ncclInt64,
	ncclUint64,
	ncclFloat16,
	ncclFloat32,
	ncclFloat64,
	ncclBfloat16,
	ncclFloat8e4m3,
	ncclFloat8e5m2
} ncclDataType_t;
typedef enum {
	ncclSum,
	ncclProd,
	ncclMax,
	ncclMin,
	ncclAvg,
	ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;
typedef enum { ncclScalarDevice, ncclScalarHostImmediate } ncclScalarResidence_t;
typedef struct {
	size_t size;
	unsigned magic, version;
	int blocking;
} ncclConfig_t;
typedef struct {
	size_t size;
} ncclCollConfig_t;
typedef struct {
	size_t size;
} ncclSimInfo_t;
typedef struct ncclWindow *ncclWindow_t;
typedef struct {
	int opCnt, peer, sigIdx, ctx;
} ncclWaitSignalDesc_t;

/* clang-format off */
#define NCCL_CONFIG_INITIALIZER { sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_INT }

#define NCCL_COLLECTIVE(name, ...) \
	ncclResult_t name(__VA_ARGS__, ncclComm_t comm, cudaStream_t stream); \
	ncclResult_t name##Config(__VA_ARGS__, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config)
#define NCCL_BUFFERS const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype

NCCL_COLLECTIVE(ncclAllReduce, NCCL_BUFFERS, ncclRedOp_t op);
NCCL_COLLECTIVE(ncclReduce, NCCL_BUFFERS, ncclRedOp_t op, int root);
NCCL_COLLECTIVE(ncclBroadcast, NCCL_BUFFERS, int root);
NCCL_COLLECTIVE(ncclReduceScatter, NCCL_BUFFERS, ncclRedOp_t op);
NCCL_COLLECTIVE(ncclAllGather, NCCL_BUFFERS);
NCCL_COLLECTIVE(ncclAlltoAll, NCCL_BUFFERS);
NCCL_COLLECTIVE(ncclGather, NCCL_BUFFERS, int root);
NCCL_COLLECTIVE(ncclScatter, NCCL_BUFFERS, int root);
ncclResult_t ncclBcast(void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclPutSignal(const void *localbuff, size_t count, ncclDataType_t datatype, int peer, ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t *signalDescs, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int winFlags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *simInfo);
ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t *config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t *newcomm, int nranks, int myrank, int nId, ncclUniqueId *commIds, ncclConfig_t *config);
ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config);
ncclResult_t ncclCommShrink(ncclComm_t comm, int *excludeRanksList, int excludeRanksCount, ncclComm_t *newcomm, ncclConfig_t *config, int shrinkFlags);
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError);
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t datatype, ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);
/* clang-format on */

#endif
