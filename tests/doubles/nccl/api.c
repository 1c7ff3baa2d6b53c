/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and groups. As in the real library ncclBcast calls ncclBroadcast like a program would. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "double.h"

/* ---- with the double of CUDA's driver ---- */

typedef int launch_fn(void *stream, void (*fn)(void *), void *arg);
typedef void *alias_fn(const void *p);

static void *driver(const char *name)
{
	void *h = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *f = h ? dlsym(h, name) : NULL;

	if (h)
		dlclose(h);
	return f;
}

/* On the device's side: its memory is where the processor does not look. */
static void run_on_stream(void *arg)
{
	alias_fn *alias = (alias_fn *)driver("double_device_alias");
	struct work *next;

	for (struct work *w = arg; w; w = w->next) {
		w->send = alias(w->send);
		w->recv = alias(w->recv);
	}
	work_run(arg);
	for (struct work *w = arg; w; w = next) {
		next = w->next;
		free(w);
	}
}

void work_free(struct work *list)
{
	struct work *next;

	for (; list; list = next) {
		next = list->next;
		free(list);
	}
}

/* Works of one communicator: now, on their stream, or at the next query. */
static ncclResult_t start(struct work *list)
{
	launch_fn *launch = (launch_fn *)driver("cuLaunchHostFunc");
	struct ncclComm *c = list->comm;
	ncclResult_t ret;

	if (!c->blocking) {
		if (!c->waiting)
			c->waiting_end = &c->waiting;
		*c->waiting_end = list;
		while (*c->waiting_end)
			c->waiting_end = &(*c->waiting_end)->next;
		return ncclInProgress;
	}
	if (launch) {
		int r = launch(list->stream, run_on_stream, list);

		if (r != 3) /* CUDA_ERROR_NOT_INITIALIZED: the driver was never started */
			return r ? ncclUnhandledCudaError : ncclSuccess;
	}
	ret = work_run(list);
	work_free(list);
	return ret;
}

/* ---- groups ---- */

static __thread struct {
	int depth;
	ncclResult_t error;
	struct work *first, **end;
} group;

/* Works of one communicator, which others may have to wait for: several are done at once. */
static void *start_in_thread(void *arg)
{
	return (void *)(intptr_t)start(arg);
}

static ncclResult_t run_group(struct work *all)
{
	ncclResult_t ret = ncclSuccess;
	pthread_t thread[RANKS_MAX];
	int n = 0;

	while (all && n < RANKS_MAX) {
		struct work *list = all, **end = &list->next, **rest = &all;
		const struct ncclComm *c = all->comm;

		all = all->next;
		*end = NULL;
		while (*rest)
			if ((*rest)->comm == c) {
				*end = *rest;
				*rest = (*rest)->next;
				end = &(*end)->next;
				*end = NULL;
			} else {
				rest = &(*rest)->next;
			}
		if (!all && !n)
			return start(list);
		if (pthread_create(&thread[n], NULL, start_in_thread, list) == 0)
			n++;
	}
	for (int i = 0; i < n; i++) {
		void *r;

		pthread_join(thread[i], &r);
		if (ret == ncclSuccess || ret == ncclInProgress)
			ret = r ? (ncclResult_t)(intptr_t)r : ret;
	}
	return ret;
}

API(ncclResult_t, ncclGroupStart, void)
{
	if (!group.depth++) {
		group.error = ncclSuccess;
		group.first = NULL;
		group.end = &group.first;
	}
	return ncclSuccess;
}

static ncclResult_t end_group(bool run)
{
	if (!group.depth)
		return ncclInvalidUsage;
	if (--group.depth)
		return ncclSuccess;
	if (group.error != ncclSuccess || !run) {
		work_free(group.first);
		return group.error;
	}
	return group.first ? run_group(group.first) : ncclSuccess;
}

API(ncclResult_t, ncclGroupEnd, void)
{
	return end_group(true);
}

#if DOUBLE_VERSION >= 22200
API(ncclResult_t, ncclGroupSimulateEnd, ncclSimInfo_t *info)
{
	(void)info;
	return end_group(false);
}
#endif

/* ---- operations ---- */

#define SCALES 16
static double scales[SCALES];
static int nscales;

ncclResult_t work_submit(struct work w)
{
	struct work *mine = malloc(sizeof(*mine));

	if (!mine)
		return ncclSystemError;
	*mine = w;
	if (!group.depth)
		return start(mine);
	*group.end = mine;
	group.end = &mine->next;
	return ncclSuccess;
}

static ncclResult_t submit(struct work w)
{
	struct ncclComm *c = w.comm;
	bool rooted =
		w.what == REDUCE || w.what == BROADCAST || w.what == GATHER || w.what == SCATTER;
	bool peer = rooted || w.what == SEND || w.what == RECEIVE;
	ncclResult_t ret = ncclSuccess;

	if (!c || (unsigned)w.dtype >= 12 || w.op < 0 || w.op >= 5 + nscales ||
		(peer && (w.peer < 0 || w.peer >= c->size)))
		ret = ncclInvalidArgument;
	else if (c->aborted)
		ret = ncclInvalidUsage;
	if (ret != ncclSuccess) {
		if (group.depth)
			group.error = ret;
		return ret;
	}
	w.scale = w.op >= 5 ? scales[w.op - 5] : 1;
	return work_submit(w);
}

#define COLLECTIVE(name, what_, params, extra, ...)        \
	API(ncclResult_t, name, params)                    \
	{                                                  \
		extra;                                     \
		return submit((struct work){.what = what_, \
			.comm = comm,                      \
			.count = count,                    \
			.dtype = dtype,                    \
			.stream = stream,                  \
			__VA_ARGS__});                     \
	}
#define P(...) __VA_ARGS__
#define HEAD const void *send, void *recv, size_t count, ncclDataType_t dtype
#define TAIL ncclComm_t comm, cudaStream_t stream
#define FORMS(name, what_, middle, ...)                                                    \
	COLLECTIVE(name, what_, P(HEAD middle, TAIL), (void)0, .send = send, .recv = recv, \
		__VA_ARGS__)                                                               \
	CONFIG_FORM(name, what_, P(HEAD middle, TAIL, const ncclCollConfig_t *config), __VA_ARGS__)
#if DOUBLE_VERSION >= 23100
#define CONFIG_FORM(name, what_, params, ...)                                                \
	COLLECTIVE(name##Config, what_, P(params), (void)config, .send = send, .recv = recv, \
		__VA_ARGS__)
#else
#define CONFIG_FORM(...)
#endif
#define NOTHING
#define OP , ncclRedOp_t op
#define ROOT , int root
#define OP_ROOT , ncclRedOp_t op, int root

FORMS(ncclAllReduce, ALL_REDUCE, OP, .op = (int)op)
FORMS(ncclReduce, REDUCE, OP_ROOT, .op = (int)op, .peer = root)
FORMS(ncclBroadcast, BROADCAST, ROOT, .peer = root)
FORMS(ncclReduceScatter, REDUCE_SCATTER, OP, .op = (int)op)
FORMS(ncclAllGather, ALL_GATHER, NOTHING, .peer = 0)
#if DOUBLE_VERSION >= 22800
FORMS(ncclAlltoAll, ALL_TO_ALL, NOTHING, .peer = 0)
FORMS(ncclGather, GATHER, ROOT, .peer = root)
FORMS(ncclScatter, SCATTER, ROOT, .peer = root)
#endif

API(ncclResult_t, ncclBcast, void *buf, size_t count, ncclDataType_t dtype, int root, TAIL)
{
	return ncclBroadcast(buf, buf, count, dtype, root, comm, stream);
}

COLLECTIVE(ncclSend, SEND, P(const void *send, size_t count, ncclDataType_t dtype, int peer, TAIL),
	(void)0, .send = send, .peer = peer)
COLLECTIVE(ncclRecv, RECEIVE, P(void *recv, size_t count, ncclDataType_t dtype, int peer, TAIL),
	(void)0, .recv = recv, .peer = peer)

API(ncclResult_t, ncclRedOpCreatePreMulSum, ncclRedOp_t *op, void *scalar, ncclDataType_t dtype,
	ncclScalarResidence_t where, ncclComm_t comm)
{
	(void)where;
	if (!comm || nscales == SCALES || (dtype != ncclFloat32 && dtype != ncclFloat64))
		return ncclInvalidArgument;
	scales[nscales] = dtype == ncclFloat32 ? (double)*(float *)scalar : *(double *)scalar;
	*op = (ncclRedOp_t)(5 + nscales++);
	return ncclSuccess;
}

API(ncclResult_t, ncclRedOpDestroy, ncclRedOp_t op, ncclComm_t comm)
{
	(void)op;
	return comm ? ncclSuccess : ncclInvalidArgument;
}
