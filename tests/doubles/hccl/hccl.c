/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libhccl.so that computes on the processor: ranks are processes that share memory, by the parts of NCCL's double. An
 * operation is done when its function, or the outermost group's end, returns. The graph engine's groups are known by the name
 * "hccl_world_group": the communicator that was made first. For tests only.
 */
#include "../nccl/double.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hccl/hccl.h"

#define OWN __attribute__((visibility("default")))

/* NCCL's number of a type; -1: it does not reduce here. */
static int nccl_type(HcclDataType t)
{
	static const signed char types[] = {ncclInt8, -1, ncclInt32, ncclFloat16, ncclFloat32,
		ncclInt64, ncclUint64, ncclUint8, -1, ncclUint32, ncclFloat64, ncclBfloat16};

	return (unsigned)t < sizeof(types) ? types[t] : -1;
}

/* ---- communicators ---- */

static struct ncclComm *world;

static HcclResult join_comm(HcclComm *out, const char *name, uint32_t rank, uint32_t size)
{
	struct ncclComm *c = calloc(1, sizeof(*c));

	if (!c || !size || size > RANKS_MAX || rank >= size) {
		free(c);
		return HCCL_E_PARA;
	}
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->rank = (int)rank;
	c->size = (int)size;
	c->blocking = true;
	c->seg = segment_join(name, c->rank, c->size);
	if (!c->seg) {
		free(c);
		return HCCL_E_INTERNAL;
	}
	if (!world)
		world = c;
	*out = c;
	return HCCL_SUCCESS;
}

OWN HcclResult HcclGetRootInfo(HcclRootInfo *info)
{
	uint64_t r[2] = {(uint64_t)getpid(), 0};
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	memset(info, 0, sizeof(*info));
	if (fd < 0 || read(fd, r, sizeof(r)) != sizeof(r))
		return HCCL_E_INTERNAL;
	close(fd);
	snprintf(info->internal, 64, "hccl-double-%016llx%016llx", (unsigned long long)r[0],
		(unsigned long long)r[1]);
	/* All bytes count. */
	memcpy(info->internal + sizeof(*info) - sizeof(r), r, sizeof(r));
	return HCCL_SUCCESS;
}

OWN HcclResult HcclCommInitRootInfo(
	uint32_t n, const HcclRootInfo *info, uint32_t rank, HcclComm *comm)
{
	return info && comm ? join_comm(comm, info->internal, rank, n) : HCCL_E_PTR;
}

OWN HcclResult HcclCommInitRootInfoConfig(uint32_t n, const HcclRootInfo *info, uint32_t rank,
	const HcclCommConfig *config, HcclComm *comm)
{
	(void)config;
	return HcclCommInitRootInfo(n, info, rank, comm);
}

/* The file has the name and the number of ranks. */
OWN HcclResult HcclCommInitClusterInfo(const char *file, uint32_t rank, HcclComm *comm)
{
	FILE *f = file ? fopen(file, "r") : NULL;
	char name[64] = "";
	unsigned n = 0;

	if (!f || fscanf(f, "%63s %u", name, &n) != 2)
		return HCCL_E_PARA;
	fclose(f);
	return join_comm(comm, name, rank, n);
}

OWN HcclResult HcclInitComm(const char *file, uint32_t rank, const CommAttr *attr, HcclComm *comm)
{
	(void)attr;
	return HcclCommInitClusterInfo(file, rank, comm);
}

OWN HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t n, uint32_t *ranks, uint64_t id,
	uint32_t rank, HcclCommConfig *config, HcclComm *sub)
{
	const struct ncclComm *c = *comm;
	char name[96];

	(void)config;
	if (!ranks) {
		*sub = NULL;
		return HCCL_SUCCESS;
	}
	snprintf(name, sizeof(name), "%.60s-%llx-%u", c->name, (unsigned long long)id, ranks[0]);
	return join_comm(sub, name, rank, n);
}

OWN HcclResult HcclCommDestroy(HcclComm comm)
{
	struct ncclComm *c = comm;

	if (!c)
		return HCCL_E_PTR;
	if (world == c)
		world = NULL;
	segment_leave(c->seg);
	free(c);
	return HCCL_SUCCESS;
}

OWN HcclResult HcclFinalizeComm(HcclComm comm)
{
	return HcclCommDestroy(comm);
}

OWN HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank)
{
	if (!comm)
		return HCCL_E_PTR;
	*rank = (uint32_t)((struct ncclComm *)comm)->rank;
	return HCCL_SUCCESS;
}

OWN HcclResult HcclGetRankSize(HcclComm comm, uint32_t *size)
{
	if (!comm)
		return HCCL_E_PTR;
	*size = (uint32_t)((struct ncclComm *)comm)->size;
	return HCCL_SUCCESS;
}

/* ---- works ---- */

static HcclResult result_of(ncclResult_t r)
{
	return r == ncclSuccess ? HCCL_SUCCESS : HCCL_E_INTERNAL;
}

OWN HcclResult HcclGroupStart(void)
{
	queue_start();
	return HCCL_SUCCESS;
}

OWN HcclResult HcclGroupEnd(void)
{
	return result_of(queue_end());
}

static HcclResult submit_work(struct work w, HcclDataType t)
{
	int type = nccl_type(t);

	if (!w.comm || type < 0 || w.op > HCCL_REDUCE_MIN || w.peer >= w.comm->size)
		return HCCL_E_PARA;
	w.dtype = (ncclDataType_t)type;
	w.scale = 1;
	return result_of(queue_work(&w));
}

OWN HcclResult HcclAllReduce(void *in, void *out, uint64_t n, HcclDataType t, HcclReduceOp op,
	HcclComm comm, aclrtStream s)
{
	(void)s;
	return submit_work((struct work){.comm = comm,
				   .what = ALL_REDUCE,
				   .send = in,
				   .recv = out,
				   .count = n,
				   .op = (int)op},
		t);
}

OWN HcclResult HcclReduce(void *in, void *out, uint64_t n, HcclDataType t, HcclReduceOp op,
	uint32_t root, HcclComm comm, aclrtStream s)
{
	(void)s;
	return submit_work((struct work){.comm = comm,
				   .what = REDUCE,
				   .send = in,
				   .recv = out,
				   .count = n,
				   .op = (int)op,
				   .peer = (int)root},
		t);
}

OWN HcclResult HcclBroadcast(
	void *buf, uint64_t n, HcclDataType t, uint32_t root, HcclComm comm, aclrtStream s)
{
	(void)s;
	return submit_work((struct work){.comm = comm,
				   .what = BROADCAST,
				   .send = buf,
				   .recv = buf,
				   .count = n,
				   .peer = (int)root},
		t);
}

OWN HcclResult HcclScatter(void *in, void *out, uint64_t n, HcclDataType t, uint32_t root,
	HcclComm comm, aclrtStream s)
{
	(void)s;
	return submit_work((struct work){.comm = comm,
				   .what = SCATTER,
				   .send = in,
				   .recv = out,
				   .count = n,
				   .peer = (int)root},
		t);
}

OWN HcclResult HcclAllGather(
	void *in, void *out, uint64_t n, HcclDataType t, HcclComm comm, aclrtStream s)
{
	(void)s;
	return submit_work(
		(struct work){
			.comm = comm, .what = ALL_GATHER, .send = in, .recv = out, .count = n},
		t);
}

OWN HcclResult HcclReduceScatter(void *in, void *out, uint64_t n, HcclDataType t, HcclReduceOp op,
	HcclComm comm, aclrtStream s)
{
	(void)s;
	return submit_work((struct work){.comm = comm,
				   .what = REDUCE_SCATTER,
				   .send = in,
				   .recv = out,
				   .count = n,
				   .op = (int)op},
		t);
}

OWN HcclResult HcclAlltoAll(const void *in, uint64_t n, HcclDataType t, const void *out, uint64_t m,
	HcclDataType u, HcclComm comm, aclrtStream s)
{
	(void)s;
	if (n != m || t != u)
		return HCCL_E_NOT_SUPPORT;
	return submit_work((struct work){.comm = comm,
				   .what = ALL_TO_ALL,
				   .send = in,
				   .recv = (void *)(uintptr_t)out,
				   .count = n},
		t);
}

static HcclResult message(enum what what, const void *buf, uint64_t n, HcclDataType t,
	uint32_t peer, struct ncclComm *comm)
{
	return submit_work((struct work){.comm = comm,
				   .what = what,
				   .send = buf,
				   .recv = (void *)(uintptr_t)buf,
				   .count = n,
				   .peer = (int)peer},
		t);
}

OWN HcclResult HcclSend(
	void *buf, uint64_t n, HcclDataType t, uint32_t peer, HcclComm comm, aclrtStream s)
{
	(void)s;
	return message(SEND, buf, n, t, peer, comm);
}

OWN HcclResult HcclRecv(
	void *buf, uint64_t n, HcclDataType t, uint32_t peer, HcclComm comm, aclrtStream s)
{
	(void)s;
	return message(RECEIVE, buf, n, t, peer, comm);
}

OWN HcclResult HcclBatchSendRecv(HcclSendRecvItem *items, uint32_t n, HcclComm comm, aclrtStream s)
{
	HcclResult r = HCCL_SUCCESS;

	(void)s;
	HcclGroupStart();
	for (uint32_t i = 0; i < n && r == HCCL_SUCCESS; i++)
		r = message(items[i].sendRecvType == HCCL_SEND ? SEND : RECEIVE, items[i].buf,
			items[i].count, items[i].dataType, items[i].remoteRank, comm);
	return r ? r : HcclGroupEnd();
}

/* Memory of another rank is what both have mapped. */
static HcclResult one_sided(bool get, HcclOneSideOpDesc *i, uint32_t n)
{
	for (; n; n--, i++) {
		size_t bytes = i->count * number_size((ncclDataType_t)nccl_type(i->dataType));

		memcpy(get ? i->localAddr : i->remoteAddr, get ? i->remoteAddr : i->localAddr,
			bytes);
	}
	return HCCL_SUCCESS;
}

OWN HcclResult HcclBatchPut(
	HcclComm comm, uint32_t peer, HcclOneSideOpDesc *items, uint32_t n, aclrtStream s)
{
	(void)s;
	return peer < (uint32_t)((struct ncclComm *)comm)->size ? one_sided(false, items, n)
								: HCCL_E_PARA;
}

OWN HcclResult HcclBatchGet(
	HcclComm comm, uint32_t peer, HcclOneSideOpDesc *items, uint32_t n, aclrtStream s)
{
	(void)s;
	return peer < (uint32_t)((struct ncclComm *)comm)->size ? one_sided(true, items, n)
								: HCCL_E_PARA;
}

/* ---- what is made of messages ---- */

static const char *element(const void *p, uint64_t i, HcclDataType t)
{
	return (const char *)p + i * number_size((ncclDataType_t)nccl_type(t));
}

/* Segments of `in` to all, of `out` from all. */
static HcclResult exchange(const void *in, const uint64_t *scounts, const uint64_t *sdispls,
	const void *out, const uint64_t *rcounts, const uint64_t *rdispls, HcclDataType t,
	struct ncclComm *c)
{
	HcclGroupStart();
	for (uint32_t r = 0; r < (uint32_t)c->size; r++) {
		message(SEND, element(in, sdispls[r], t), scounts[r], t, r, c);
		message(RECEIVE, element(out, rdispls[r], t), rcounts[r], t, r, c);
	}
	return HcclGroupEnd();
}

OWN HcclResult HcclAlltoAllV(const void *in, const void *counts, const void *displs, HcclDataType t,
	const void *out, const void *rcounts, const void *rdispls, HcclDataType u, HcclComm comm,
	aclrtStream s)
{
	(void)s, (void)u;
	return exchange(in, counts, displs, out, rcounts, rdispls, t, comm);
}

OWN HcclResult HcclAlltoAllVC(const void *in, const void *matrix, HcclDataType t, const void *out,
	HcclDataType u, HcclComm comm, aclrtStream s)
{
	uint64_t n[4][RANKS_MAX] = {{0}}, sent = 0, received = 0;
	const struct ncclComm *c = comm;
	const uint64_t *m = matrix;

	(void)s, (void)u;
	for (int r = 0; r < c->size; r++) {
		n[0][r] = m[c->rank * c->size + r];
		n[1][r] = sent;
		n[2][r] = m[r * c->size + c->rank];
		n[3][r] = received;
		sent += n[0][r];
		received += n[2][r];
	}
	return exchange(in, n[0], n[1], out, n[2], n[3], t, comm);
}

OWN HcclResult HcclAllGatherV(void *in, uint64_t n, void *out, const void *counts,
	const void *displs, HcclDataType t, HcclComm comm, aclrtStream s)
{
	uint64_t same[RANKS_MAX], none[RANKS_MAX] = {0};

	(void)s;
	for (int r = 0; r < RANKS_MAX; r++)
		same[r] = n;
	return exchange(in, same, none, out, counts, displs, t, comm);
}

OWN HcclResult HcclReduceScatterV(void *in, const void *counts, const void *displs, void *out,
	uint64_t n, HcclDataType t, HcclReduceOp op, HcclComm comm, aclrtStream s)
{
	const struct ncclComm *c = comm;
	uint64_t same[RANKS_MAX], place[RANKS_MAX];
	const void *part[RANKS_MAX];
	char *all = malloc((size_t)c->size * (size_t)n * 8 + 1);
	HcclResult ret;

	(void)s;
	if (!all)
		return HCCL_E_MEMORY;
	for (int r = 0; r < c->size; r++) {
		same[r] = n;
		place[r] = (uint64_t)r * n;
		part[r] = element(all, place[r], t);
	}
	ret = exchange(in, counts, displs, all, same, place, t, comm);
	if (ret == HCCL_SUCCESS)
		number_reduce(out, part, c->size, n, (ncclDataType_t)nccl_type(t), (int)op, 1);
	free(all);
	return ret;
}

OWN HcclResult HcclBarrier(HcclComm comm, aclrtStream s)
{
	(void)s;
	return segment_barrier(((struct ncclComm *)comm)->seg) ? HCCL_E_INTERNAL : HCCL_SUCCESS;
}

OWN HcclResult HcclGetCommName(HcclComm comm, char *name)
{
	snprintf(name, 128, "comm_of_%s", ((struct ncclComm *)comm)->name);
	return HCCL_SUCCESS;
}

/* ---- the graph engine's ---- */

static struct ncclComm *find_group(const char *name)
{
	return strcmp(name, "hccl_world_group") == 0 ? world : NULL;
}

OWN HcclResult HcomGetRankId(const char *name, uint32_t *rank)
{
	return HcclGetRankId(find_group(name), rank);
}

OWN HcclResult HcomGetRankSize(const char *name, uint32_t *size)
{
	return HcclGetRankSize(find_group(name), size);
}

OWN HcclResult HcomAllReduce(const char *tag, void *in, void *out, uint64_t n, HcclDataType t,
	HcclReduceOp op, const char *name, aclrtStream s)
{
	(void)tag;
	return HcclAllReduce(in, out, n, t, op, find_group(name), s);
}

OWN HcclResult HcomAllGather(const char *tag, void *in, void *out, uint64_t n, HcclDataType t,
	const char *name, aclrtStream s)
{
	(void)tag;
	return HcclAllGather(in, out, n, t, find_group(name), s);
}

OWN HcclResult HcomSend(const char *tag, void *buf, uint64_t n, HcclDataType t, uint32_t peer,
	uint32_t number, const char *name, aclrtStream s)
{
	(void)tag, (void)number;
	return HcclSend(buf, n, t, peer, find_group(name), s);
}

OWN HcclResult HcomReceive(const char *tag, void *buf, uint64_t n, HcclDataType t, uint32_t peer,
	uint32_t number, const char *name, aclrtStream s)
{
	(void)tag, (void)number;
	return HcclRecv(buf, n, t, peer, find_group(name), s);
}

OWN HcclResult HcomAllGatherV(const char *tag, const void *in, uint64_t n, const void *out,
	const void *counts, const void *displs, HcclDataType t, const char *name, aclrtStream s)
{
	(void)tag;
	return HcclAllGatherV((void *)(uintptr_t)in, n, (void *)(uintptr_t)out, counts, displs, t,
		find_group(name), s);
}

OWN HcclResult HcomReduce(const char *tag, void *in, void *out, uint64_t n, HcclDataType t,
	HcclReduceOp op, uint32_t root, const char *name, aclrtStream s)
{
	(void)tag;
	return HcclReduce(in, out, n, t, op, root, find_group(name), s);
}

OWN HcclResult HcomReduceScatterV(const char *tag, void *in, const void *counts, const void *displs,
	void *out, uint64_t n, HcclDataType t, HcclReduceOp op, const char *name, aclrtStream s)
{
	(void)tag;
	return HcclReduceScatterV(in, counts, displs, out, n, t, op, find_group(name), s);
}

OWN HcclResult HcomAlltoAllVC(const void *in, const void *matrix, HcclDataType t, const void *out,
	HcclDataType u, const char *name, aclrtStream s, const char *tag)
{
	(void)tag;
	return HcclAlltoAllVC(in, matrix, t, out, u, find_group(name), s);
}

OWN HcclResult HcomAllToAll(const void *in, uint64_t n, HcclDataType t, const void *out, uint64_t m,
	HcclDataType u, const char *name, aclrtStream s, const char *tag)
{
	(void)tag;
	return HcclAlltoAll(in, n, t, out, m, u, find_group(name), s);
}
