/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of HCCL as far as the double has it, in our own words, after the headers hccl.h and hccl_types.h of CANN
 * 8.1.RC1 (and, for AlltoAllVC, barrier and groups, of the hccl and hcomm sources after it). For tests only.
 */
#ifndef TESTS_DOUBLES_HCCL_H
#define TESTS_DOUBLES_HCCL_H

#include <stdint.h>

typedef enum {
	HCCL_SUCCESS,
	HCCL_E_PARA,
	HCCL_E_PTR,
	HCCL_E_MEMORY,
	HCCL_E_INTERNAL,
	HCCL_E_NOT_SUPPORT
} HcclResult;
typedef enum {
	HCCL_DATA_TYPE_INT8,
	HCCL_DATA_TYPE_INT16,
	HCCL_DATA_TYPE_INT32,
	HCCL_DATA_TYPE_FP16,
	HCCL_DATA_TYPE_FP32,
	HCCL_DATA_TYPE_INT64,
	HCCL_DATA_TYPE_UINT64,
	HCCL_DATA_TYPE_UINT8,
	HCCL_DATA_TYPE_UINT16,
	HCCL_DATA_TYPE_UINT32,
	HCCL_DATA_TYPE_FP64,
	HCCL_DATA_TYPE_BFP16
} HcclDataType;
typedef enum { HCCL_REDUCE_SUM, HCCL_REDUCE_PROD, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN } HcclReduceOp;
typedef enum { HCCL_SEND, HCCL_RECV } HcclSendRecvType;
typedef void *HcclComm, *aclrtStream;
typedef struct {
	char internal[4108];
} HcclRootInfo;
typedef struct {
	char reserved[512];
} HcclCommConfig;
typedef struct {
	HcclSendRecvType sendRecvType;
	void *buf;
	uint64_t count;
	HcclDataType dataType;
	uint32_t remoteRank;
} HcclSendRecvItem;
typedef struct {
	void *localAddr, *remoteAddr;
	uint64_t count;
	HcclDataType dataType;
} HcclOneSideOpDesc;

typedef struct CommAttr CommAttr;

/* X(name, parameters): all functions; each returns HcclResult. */
/* clang-format off */
#define HCCL_FUNCTIONS(X) \
	X(HcclGetRootInfo, (HcclRootInfo *info)) \
	X(HcclCommInitRootInfo, (uint32_t n, const HcclRootInfo *info, uint32_t rank, HcclComm *comm)) \
	X(HcclCommInitRootInfoConfig, (uint32_t n, const HcclRootInfo *info, uint32_t rank, const HcclCommConfig *config, HcclComm *comm)) \
	X(HcclCommInitClusterInfo, (const char *file, uint32_t rank, HcclComm *comm)) \
	X(HcclInitComm, (const char *file, uint32_t rank, const CommAttr *attr, HcclComm *comm)) \
	X(HcclFinalizeComm, (HcclComm comm)) \
	X(HcclCreateSubCommConfig, (HcclComm *comm, uint32_t n, uint32_t *ranks, uint64_t id, uint32_t rank, HcclCommConfig *config, HcclComm *sub)) \
	X(HcclCommDestroy, (HcclComm comm)) \
	X(HcclGetRankId, (HcclComm comm, uint32_t *rank)) \
	X(HcclGetRankSize, (HcclComm comm, uint32_t *size)) \
	X(HcclAllReduce, (void *in, void *out, uint64_t n, HcclDataType t, HcclReduceOp op, HcclComm comm, aclrtStream stream)) \
	X(HcclReduce, (void *in, void *out, uint64_t n, HcclDataType t, HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream)) \
	X(HcclBroadcast, (void *buf, uint64_t n, HcclDataType t, uint32_t root, HcclComm comm, aclrtStream stream)) \
	X(HcclScatter, (void *in, void *out, uint64_t n, HcclDataType t, uint32_t root, HcclComm comm, aclrtStream stream)) \
	X(HcclAllGather, (void *in, void *out, uint64_t n, HcclDataType t, HcclComm comm, aclrtStream stream)) \
	X(HcclAllGatherV, (void *in, uint64_t n, void *out, const void *counts, const void *displs, HcclDataType t, HcclComm comm, aclrtStream stream)) \
	X(HcclReduceScatter, (void *in, void *out, uint64_t n, HcclDataType t, HcclReduceOp op, HcclComm comm, aclrtStream stream)) \
	X(HcclReduceScatterV, (void *in, const void *counts, const void *displs, void *out, uint64_t n, HcclDataType t, HcclReduceOp op, HcclComm comm, aclrtStream stream)) \
	X(HcclAlltoAll, (const void *in, uint64_t n, HcclDataType t, const void *out, uint64_t m, HcclDataType u, HcclComm comm, aclrtStream stream)) \
	X(HcclAlltoAllV, (const void *in, const void *counts, const void *displs, HcclDataType t, const void *out, const void *rcounts, const void *rdispls, HcclDataType u, HcclComm comm, aclrtStream stream)) \
	X(HcclAlltoAllVC, (const void *in, const void *matrix, HcclDataType t, const void *out, HcclDataType u, HcclComm comm, aclrtStream stream)) \
	X(HcclSend, (void *buf, uint64_t n, HcclDataType t, uint32_t peer, HcclComm comm, aclrtStream stream)) \
	X(HcclRecv, (void *buf, uint64_t n, HcclDataType t, uint32_t peer, HcclComm comm, aclrtStream stream)) \
	X(HcclBatchSendRecv, (HcclSendRecvItem *items, uint32_t n, HcclComm comm, aclrtStream stream)) \
	X(HcclBatchPut, (HcclComm comm, uint32_t peer, HcclOneSideOpDesc *items, uint32_t n, aclrtStream stream)) \
	X(HcclBatchGet, (HcclComm comm, uint32_t peer, HcclOneSideOpDesc *items, uint32_t n, aclrtStream stream)) \
	X(HcclBarrier, (HcclComm comm, aclrtStream stream)) \
	X(HcclGroupStart, (void)) \
	X(HcclGroupEnd, (void)) \
	X(HcomGetRankId, (const char *group, uint32_t *rank)) \
	X(HcomGetRankSize, (const char *group, uint32_t *size)) \
	X(HcomAllReduce, (const char *tag, void *in, void *out, uint64_t n, HcclDataType t, HcclReduceOp op, const char *group, aclrtStream stream)) \
	X(HcomAllGather, (const char *tag, void *in, void *out, uint64_t n, HcclDataType t, const char *group, aclrtStream stream)) \
	X(HcomAllGatherV, (const char *tag, const void *in, uint64_t n, const void *out, const void *counts, const void *displs, HcclDataType t, const char *group, aclrtStream stream)) \
	X(HcomReduce, (const char *tag, void *in, void *out, uint64_t n, HcclDataType t, HcclReduceOp op, uint32_t root, const char *group, aclrtStream stream)) \
	X(HcomReduceScatterV, (const char *tag, void *in, const void *counts, const void *displs, void *out, uint64_t n, HcclDataType t, HcclReduceOp op, const char *group, aclrtStream stream)) \
	X(HcomAlltoAllVC, (const void *in, const void *matrix, HcclDataType t, const void *out, HcclDataType u, const char *group, aclrtStream stream, const char *tag)) \
	X(HcomAllToAll, (const void *in, uint64_t n, HcclDataType t, const void *out, uint64_t m, HcclDataType u, const char *group, aclrtStream stream, const char *tag)) \
	X(HcomSend, (const char *tag, void *buf, uint64_t n, HcclDataType t, uint32_t peer, uint32_t number, const char *group, aclrtStream stream)) \
	X(HcomReceive, (const char *tag, void *buf, uint64_t n, HcclDataType t, uint32_t peer, uint32_t number, const char *group, aclrtStream stream))
/* clang-format on */

#define HCCL_DECLARE(name, parameters) HcclResult name parameters;
HCCL_FUNCTIONS(HCCL_DECLARE)

#endif
