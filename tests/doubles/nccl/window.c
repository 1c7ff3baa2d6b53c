/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows, and calls that only one side makes. What is put lies in memory that both share until the target waits for a
 * signal: then all that has come is copied into its windows, in the order in which each rank sent it.
 */
#include <stdlib.h>
#include <string.h>

#include "double.h"

struct window {
	struct ncclComm *comm;
	uint32_t number; /* the same on all ranks, which make them in the same order */
	char *base;
	size_t bytes;
	struct window *next;
};

void windows_free(struct ncclComm *c)
{
	while (c->windows) {
		struct window *w = c->windows;

		c->windows = w->next;
		free(w);
	}
}

#if DOUBLE_VERSION >= 22700

static ncclResult_t make_window(struct work *w)
{
	struct ncclComm *c = w->comm;
	struct window *new = calloc(1, sizeof(*new));

	if (!new || segment_barrier(c->seg)) {
		free(new);
		return ncclSystemError;
	}
	*new = (struct window){c, c->made_windows++, w->recv, w->count, c->windows};
	c->windows = new;
	*(struct window **)(uintptr_t)w->send = new;
	return ncclSuccess;
}

/* As in the real library: in a group there is no handle before its end, and for a flag that it cannot do there is none at all. */
API(ncclResult_t, ncclCommWindowRegister, ncclComm_t comm, void *buf, size_t bytes,
	ncclWindow_t *win, int flags)
{
	struct work w = {.what = WINDOW, .comm = comm, .recv = buf, .send = win, .count = bytes};

	if (!comm || !buf || !bytes || !win)
		return ncclInvalidArgument;
	*win = NULL;
	return flags & NO_WINDOW ? ncclSuccess : work_submit(w);
}

API(ncclResult_t, ncclCommWindowDeregister, ncclComm_t comm, ncclWindow_t win)
{
	if (!comm)
		return ncclInvalidArgument;
	for (struct window **at = &comm->windows; *at; at = &(*at)->next) {
		struct window *w = *at;

		if ((void *)w != (void *)win)
			continue;
		*at = w->next;
		free(w);
		return ncclSuccess;
	}
	return win ? ncclInvalidArgument : ncclSuccess;
}
#endif

#if DOUBLE_VERSION >= 22902

/* ---- this side ---- */

static ncclResult_t put(struct work *w)
{
	struct post p = {.window = w->window, .index = w->index};
	size_t bytes = w->count * number_size(w->dtype);
	const char *from = w->send;

	do {
		p.bytes = (uint32_t)(bytes < POST_BYTES ? bytes : POST_BYTES);
		p.offset = w->offset + (size_t)(from - (const char *)w->send);
		bytes -= p.bytes;
		p.last = !bytes;
		if (segment_post(w->comm->seg, w->peer, &p, from))
			return ncclSystemError;
		from += p.bytes;
	} while (bytes);
	return ncclSuccess;
}

/* ---- the other side ---- */

static struct window *find_window(const struct ncclComm *c, uint32_t number)
{
	struct window *w = c->windows;

	while (w && w->number != number)
		w = w->next;
	return w;
}

/* False: nothing is there. */
static bool take_post(struct ncclComm *c, int from)
{
	struct window *w;
	struct post p;
	const void *data = segment_posted(c->seg, from, &p);

	if (!data)
		return false;
	w = find_window(c, p.window);
	if (p.bytes && w && p.offset + p.bytes <= w->bytes)
		memcpy(w->base + p.offset, data, p.bytes);
	c->signals[from][p.index] += p.last;
	segment_post_done(c->seg, from);
	return true;
}

static ncclResult_t wait_signals(struct work *w)
{
	struct ncclComm *c = w->comm;
	unsigned tries = 0;

	for (int i = 0; i < w->nwait; i++)
		while (c->signals[w->wait[i].peer][w->wait[i].index] < w->wait[i].count) {
			bool some = false;

			for (int r = 0; r < c->size; r++)
				some |= take_post(c, r);
			if (!some && !segment_wait(&tries))
				return ncclSystemError;
		}
	for (int i = 0; i < w->nwait; i++)
		c->signals[w->wait[i].peer][w->wait[i].index] -= w->wait[i].count;
	return ncclSuccess;
}

static ncclResult_t check_signal(const struct ncclComm *c, int peer, int index, int ctx)
{
	if (!c || peer < 0 || peer >= c->size || index < 0 || index >= SIGNALS || ctx)
		return ncclInvalidArgument;
	return c->aborted ? ncclInvalidUsage : ncclSuccess;
}

API(ncclResult_t, ncclPutSignal, const void *send, size_t count, ncclDataType_t dtype, int peer,
	ncclWindow_t win, size_t offset, int index, int ctx, unsigned int flags, ncclComm_t comm,
	cudaStream_t stream)
{
	const struct window *w = (const void *)win;
	ncclResult_t ret = check_signal(comm, peer, index, ctx);

	if (ret)
		return ret;
	if (flags || !w || w->comm != comm || (unsigned)dtype >= 12 ||
		offset + count * number_size(dtype) > w->bytes)
		return ncclInvalidArgument;
	return work_submit((struct work){.what = PUT,
		.comm = comm,
		.send = send,
		.count = count,
		.dtype = dtype,
		.peer = peer,
		.window = w->number,
		.offset = offset,
		.index = index,
		.stream = stream});
}

API(ncclResult_t, ncclSignal, int peer, int index, int ctx, unsigned int flags, ncclComm_t comm,
	cudaStream_t stream)
{
	ncclResult_t ret = check_signal(comm, peer, index, ctx);

	if (ret || flags)
		return ret ? ret : ncclInvalidArgument;
	return work_submit((struct work){.what = PUT,
		.comm = comm,
		.send = "",
		.peer = peer,
		.index = index,
		.stream = stream});
}

API(ncclResult_t, ncclWaitSignal, int n, ncclWaitSignalDesc_t *d, ncclComm_t comm,
	cudaStream_t stream)
{
	struct work w = {.what = WAIT, .comm = comm, .nwait = n, .stream = stream};

	if (!comm || n < 1 || n > RANKS_MAX || !d)
		return ncclInvalidArgument;
	for (int i = 0; i < n; i++) {
		if (check_signal(comm, d[i].peer, d[i].sigIdx, d[i].ctx) || d[i].opCnt < 1)
			return ncclInvalidArgument;
		w.wait[i].count = d[i].opCnt;
		w.wait[i].peer = d[i].peer;
		w.wait[i].index = d[i].sigIdx;
	}
	return work_submit(w);
}
#endif

ncclResult_t window_work(struct work *w)
{
	switch (w->what) {
#if DOUBLE_VERSION >= 22700
	case WINDOW:
		return make_window(w);
#endif
#if DOUBLE_VERSION >= 22902
	case PUT:
		return put(w);
	case WAIT:
		return wait_signals(w);
#endif
	default:
		return ncclInvalidUsage;
	}
}
