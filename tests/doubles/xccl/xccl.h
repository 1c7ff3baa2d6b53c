/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with communicators from a unique id that is not NCCL: the id is 20 bytes after a pointer, the number of ranks
 * is returned, groups do not exist. It computes by itself what equal ranks would give. For tests only.
 */
#ifndef TESTS_DOUBLES_XCCL_H
#define TESTS_DOUBLES_XCCL_H

#include <stddef.h>
#include <stdint.h>

typedef struct xccl_comm *xcclComm;
typedef struct {
	char bytes[20];
} xcclRootInfo;
enum { XCCL_OK = 0, XCCL_FAILED = 9 };
enum { XCCL_F32 = 2, XCCL_F64 = 5 };
enum { XCCL_SUM = 1, XCCL_MAX = 3 };

int xcclCommInitRootInfo(uint32_t nranks, const xcclRootInfo *id, uint32_t rank, xcclComm *comm);
int xcclCommInitAll(uint32_t n, int *devices, xcclComm *comms);
int xcclCreateSubComm(xcclComm comm, int color, int key, xcclComm *out);
int xcclCommDestroy(xcclComm comm);
int xcclGetRank(xcclComm comm, uint32_t *rank);
unsigned int xcclGetSize(xcclComm comm);
int xcclAllReduce(
	const void *in, void *out, uint64_t n, int type, int op, xcclComm comm, void *stream);
int xcclAllGather(const void *in, void *out, uint64_t n, int type, xcclComm comm, void *stream);

#endif
