/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "double.h"

static ncclResult_t join(
	ncclComm_t *out, const char *name, int rank, int size, const ncclConfig_t *config)
{
	struct ncclComm *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c || size < 1 || size > RANKS_MAX || rank < 0 || rank >= size) {
		free(c);
		return ncclInvalidArgument;
	}
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->rank = rank;
	c->size = size;
	c->blocking = !config || config->blocking != 0;
	c->seg = segment_join(name, rank, size);
	if (!c->seg) {
		free(c);
		return ncclSystemError;
	}
	*out = c;
	return c->blocking ? ncclSuccess : ncclInProgress;
}

API(ncclResult_t, ncclGetVersion, int *version)
{
	if (!version)
		return ncclInvalidArgument;
	*version = DOUBLE_VERSION;
	return ncclSuccess;
}

API(ncclResult_t, ncclGetUniqueId, ncclUniqueId *id)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	uint64_t r[2] = {(uint64_t)getpid(), 0};

	memset(id, 0, sizeof(*id));
	if (fd < 0 || read(fd, r, sizeof(r)) != sizeof(r))
		return ncclSystemError;
	close(fd);
	snprintf(id->internal, 64, "nccl-double-%016llx%016llx", (unsigned long long)r[0],
		(unsigned long long)r[1]);
	/* All 128 bytes count. */
	memcpy(id->internal + 112, r, sizeof(r));
	return ncclSuccess;
}

API(ncclResult_t, ncclCommInitRankConfig, ncclComm_t *comm, int size, ncclUniqueId id, int rank,
	ncclConfig_t *config)
{
	id.internal[63] = 0;
	return comm ? join(comm, id.internal, rank, size, config) : ncclInvalidArgument;
}

API(ncclResult_t, ncclCommInitRank, ncclComm_t *comm, int size, ncclUniqueId id, int rank)
{
	return pncclCommInitRankConfig(comm, size, id, rank, NULL);
}

#if DOUBLE_VERSION >= 22300
API(ncclResult_t, ncclCommInitRankScalable, ncclComm_t *comm, int size, int rank, int n,
	ncclUniqueId *ids, ncclConfig_t *config)
{
	return n > 0 ? pncclCommInitRankConfig(comm, size, ids[0], rank, config)
		     : ncclInvalidArgument;
}
#endif

struct joining {
	ncclComm_t *comm;
	int size, rank;
	ncclUniqueId id;
	ncclResult_t ret;
};

static void *join_one(void *arg)
{
	struct joining *j = arg;

	j->ret = pncclCommInitRank(j->comm, j->size, j->id, j->rank);
	return NULL;
}

API(ncclResult_t, ncclCommInitAll, ncclComm_t *comm, int n, const int *devices)
{
	struct joining j[RANKS_MAX];
	pthread_t thread[RANKS_MAX];
	ncclResult_t ret = ncclSuccess;
	ncclUniqueId id;

	(void)devices;
	if (!comm || n < 1 || n > RANKS_MAX)
		return ncclInvalidArgument;
	pncclGetUniqueId(&id);
	for (int i = 0; i < n; i++) {
		j[i] = (struct joining){&comm[i], n, i, id, ncclSystemError};
		if (pthread_create(&thread[i], NULL, join_one, &j[i]))
			abort();
	}
	for (int i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		ret = j[i].ret ? j[i].ret : ret;
	}
	return ret;
}

ncclResult_t comm_split(struct work *w)
{
	struct ncclComm *comm = w->comm;
	int color = w->peer, key = w->op, mine[2] = {color, key}, rank = 0, size = 0;
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t part;
	ncclResult_t ret;
	char name[96];
	unsigned n = comm->splits++;

	memcpy(segment_slot(comm->seg, comm->rank), mine, sizeof(mine));
	if (segment_barrier(comm->seg))
		return ncclSystemError;
	for (int r = 0; r < comm->size; r++) {
		const int *his = segment_slot(comm->seg, r);

		if (his[0] != color)
			continue;
		size++;
		rank += his[1] < key || (his[1] == key && r < comm->rank);
	}
	if (segment_barrier(comm->seg))
		return ncclSystemError;
	if (color == NCCL_SPLIT_NOCOLOR)
		return ncclSuccess;
	snprintf(name, sizeof(name), "%.60s-s%u-%d", comm->name, n, color);
	config.blocking = comm->blocking;
	ret = join(&part, name, rank, size, &config);
	*(ncclComm_t *)w->recv = part;
	return ret == ncclInProgress ? ncclSuccess : ret;
}

/* As in the real library there is no handle until the part is complete: at the group's end, or later. */
API(ncclResult_t, ncclCommSplit, ncclComm_t comm, int color, int key, ncclComm_t *out,
	ncclConfig_t *config)
{
	struct work w = {.what = SPLIT, .comm = comm, .recv = out, .peer = color, .op = key};

	(void)config;
	if (!comm || !out)
		return ncclInvalidArgument;
	*out = NULL;
	return work_submit(w);
}

#if DOUBLE_VERSION >= 22700
API(ncclResult_t, ncclCommShrink, ncclComm_t comm, int *list, int n, ncclComm_t *out,
	ncclConfig_t *config, int flags)
{
	int rank = 0;
	char name[96];

	(void)flags;
	if (!comm || !out || n < 1 || n >= comm->size)
		return ncclInvalidArgument;
	for (int r = 0; r < comm->rank; r++) {
		rank++;
		for (int i = 0; i < n; i++)
			rank -= list[i] == r;
	}
	snprintf(name, sizeof(name), "%.60s-k%u-%d", comm->name, comm->splits++, list[0]);
	return join(out, name, rank, comm->size - n, config);
}
#endif

API(ncclResult_t, ncclCommDestroy, ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	windows_free(comm);
	segment_leave(comm->seg);
	free(comm);
	return ncclSuccess;
}

API(ncclResult_t, ncclCommAbort, ncclComm_t comm)
{
	return pncclCommDestroy(comm);
}

#if DOUBLE_VERSION >= 22807
API(ncclResult_t, ncclCommRevoke, ncclComm_t comm, int flags)
{
	if (!comm || flags)
		return ncclInvalidArgument;
	comm->aborted = true;
	return ncclSuccess;
}
#endif

API(ncclResult_t, ncclCommFinalize, ncclComm_t comm)
{
	return comm ? ncclSuccess : ncclInvalidArgument;
}

API(ncclResult_t, ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t *error)
{
	struct work *list;

	if (!comm || !error)
		return ncclInvalidArgument;
	list = comm->waiting;
	comm->waiting = NULL;
	*error = list ? work_run(list) : ncclSuccess;
	work_free(list);
	return ncclSuccess;
}

API(ncclResult_t, ncclCommCount, const ncclComm_t comm, int *out)
{
	if (!comm || !out)
		return ncclInvalidArgument;
	*out = comm->size;
	return ncclSuccess;
}

API(ncclResult_t, ncclCommUserRank, const ncclComm_t comm, int *out)
{
	if (!comm || !out)
		return ncclInvalidArgument;
	*out = comm->rank;
	return ncclSuccess;
}

API(ncclResult_t, ncclCommCuDevice, const ncclComm_t comm, int *out)
{
	if (!comm || !out)
		return ncclInvalidArgument;
	*out = 0;
	return ncclSuccess;
}

API(const char *, ncclGetErrorString, ncclResult_t result)
{
	return result == ncclSuccess ? "no error" : "an error of the double";
}

API(const char *, ncclGetLastError, ncclComm_t comm)
{
	(void)comm;
	return "";
}
