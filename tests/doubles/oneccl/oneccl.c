/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libccl.so.2 (oneCCL's C interface) that computes on the processor, by the parts of NCCL's double, whose types and
 * reductions have the same numbers. For tests only.
 */
#include "../nccl/double.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN __attribute__((visibility("default")))

struct unique_id {
	char data[4096];
};
enum { INVALID = 4 };

static int join_comm(struct ncclComm **out, const char *name, int rank, int size)
{
	struct ncclComm *c = calloc(1, sizeof(*c));

	if (!c || size < 1 || size > RANKS_MAX || rank < 0 || rank >= size) {
		free(c);
		return INVALID;
	}
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->rank = rank;
	c->size = size;
	c->blocking = true;
	c->seg = segment_join(name, rank, size);
	*out = c;
	return c->seg ? 0 : INVALID;
}

OWN int onecclGetUniqueId(struct unique_id *id)
{
	uint64_t r[2] = {(uint64_t)getpid(), 0};
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	memset(id, 0, sizeof(*id));
	if (fd < 0 || read(fd, r, sizeof(r)) != sizeof(r))
		return INVALID;
	close(fd);
	snprintf(id->data, 64, "oneccl-double-%016llx%016llx", (unsigned long long)r[0],
		(unsigned long long)r[1]);
	memcpy(id->data + sizeof(*id) - sizeof(r), r, sizeof(r));
	return 0;
}

OWN int onecclSetDevice(uint32_t index)
{
	return (int)index * 0;
}

OWN int onecclCommInitRank(struct ncclComm **comm, size_t size, struct unique_id id, int rank)
{
	return join_comm(comm, id.data, rank, (int)size);
}

/* All ranks give the same colour. */
OWN int onecclCommSplit(struct ncclComm *c, int color, int key, struct ncclComm **out, void *config)
{
	char name[96];

	(void)key, (void)config;
	snprintf(name, sizeof(name), "%.60s-s%u-%d", c->name, c->splits++, color);
	return join_comm(out, name, c->rank, c->size);
}

OWN int onecclCommDestroy(struct ncclComm *c)
{
	segment_leave(c->seg);
	free(c);
	return 0;
}

OWN int onecclCommCount(const struct ncclComm *c, int *size)
{
	*size = c->size;
	return 0;
}

OWN int onecclCommUserRank(const struct ncclComm *c, int *rank)
{
	*rank = c->rank;
	return 0;
}

OWN int onecclGroupStart(void)
{
	queue_start();
	return 0;
}

OWN int onecclGroupEnd(void)
{
	return queue_end() ? INVALID : 0;
}

static int submit_work(struct ncclComm *c, enum what what, const void *in, void *out, size_t n,
	int t, int op, int peer)
{
	struct work w = {.comm = c,
		.what = what,
		.send = in,
		.recv = out,
		.count = n,
		.dtype = (ncclDataType_t)t,
		.op = op,
		.peer = peer,
		.scale = 1};

	if (!c || (unsigned)t > 9 || (unsigned)op > 4 || peer < 0 || peer >= c->size)
		return INVALID;
	return queue_work(&w) ? INVALID : 0;
}

OWN int onecclAllReduce(void *in, void *out, size_t n, int t, int op, struct ncclComm *c, void *s)
{
	(void)s;
	return submit_work(c, ALL_REDUCE, in, out, n, t, op, 0);
}

OWN int onecclReduce(
	const void *in, void *out, size_t n, int t, int op, int root, struct ncclComm *c, void *s)
{
	(void)s;
	return submit_work(c, REDUCE, in, out, n, t, op, root);
}

OWN int onecclBroadcast(
	const void *in, void *out, size_t n, int t, int root, struct ncclComm *c, void *s)
{
	(void)s;
	return submit_work(c, BROADCAST, in, out, n, t, 0, root);
}

OWN int onecclAllGather(const void *in, void *out, size_t n, int t, struct ncclComm *c, void *s)
{
	(void)s;
	return submit_work(c, ALL_GATHER, in, out, n, t, 0, 0);
}

OWN int onecclReduceScatter(
	const void *in, void *out, size_t n, int t, int op, struct ncclComm *c, void *s)
{
	(void)s;
	return submit_work(c, REDUCE_SCATTER, in, out, n, t, op, 0);
}

OWN int onecclScatter(
	const void *in, void *out, size_t n, int t, int root, struct ncclComm *c, void *s)
{
	(void)s;
	return submit_work(c, SCATTER, in, out, n, t, 0, root);
}

OWN int onecclAllToAll(const void *in, void *out, size_t n, int t, struct ncclComm *c, void *s)
{
	(void)s;
	return submit_work(c, ALL_TO_ALL, in, out, n, t, 0, 0);
}

OWN int onecclSend(const void *in, size_t n, int t, int peer, struct ncclComm *c, void *s)
{
	(void)s;
	return submit_work(c, SEND, in, NULL, n, t, 0, peer);
}

OWN int onecclRecv(void *out, size_t n, int t, int peer, struct ncclComm *c, void *s)
{
	(void)s;
	return submit_work(c, RECEIVE, NULL, out, n, t, 0, peer);
}

OWN int onecclAllToAllV(const void *in, const size_t *scounts, void *out, const size_t *rcounts,
	int t, struct ncclComm *c, void *s)
{
	const char *from = in;
	char *to = out;
	int bad = 0;

	(void)s;
	queue_start();
	for (int r = 0; r < c->size; r++) {
		bad |= submit_work(c, SEND, from, NULL, scounts[r], t, 0, r);
		bad |= submit_work(c, RECEIVE, NULL, to, rcounts[r], t, 0, r);
		from += scounts[r] * number_size((ncclDataType_t)t);
		to += rcounts[r] * number_size((ncclDataType_t)t);
	}
	return queue_end() || bad ? INVALID : 0;
}
