/* SPDX-License-Identifier: Apache-2.0 */
/* The declarations of NCCL, HCCL and UCC that reuse.c needs. Tests only. */
#ifndef TESTS_DOUBLES_REUSE_H
#define TESTS_DOUBLES_REUSE_H

#include <stddef.h>

#include "../ucc/ucc.h"

enum { REUSE_FLOAT32_OF_NCCL = 7, REUSE_FLOAT32_OF_HCCL = 4 };

typedef struct {
	char internal[128];
} reuse_nccl_id;
typedef struct {
	char internal[4108];
} reuse_hccl_id;

int ncclCommInitRank(void **comm, int size, reuse_nccl_id id, int rank);
int ncclCommCount(void *comm, int *size);
int ncclCommUserRank(void *comm, int *rank);
int ncclCommDestroy(void *comm);
int ncclCommWindowRegister(void *comm, void *at, size_t bytes, void **window, int flags);
int ncclCommWindowDeregister(void *comm, void *window);
int ncclAllReduce(
	const void *from, void *to, size_t n, int dtype, int op, void *comm, void *stream);

int HcclCommInitRootInfo(uint32_t size, const reuse_hccl_id *id, uint32_t rank, void **comm);
int HcclGetRankId(void *comm, uint32_t *rank);
int HcclGetRankSize(void *comm, uint32_t *size);
int HcclCommDestroy(void *comm);
int HcclAllReduce(void *from, void *to, uint64_t n, int dtype, int op, void *comm, void *stream);

#endif
