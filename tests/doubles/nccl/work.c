/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives go through the slots piece by piece: every rank puts a piece of each of its blocks in, all wait, each takes
 * what it needs. So in-place forms need no care: what is overwritten has been put in.
 */
#include <string.h>

#include "double.h"

/* What this rank puts in: blocks of `count` elements; 0: nothing. */
static int blocks_in(const struct work *w)
{
	const struct ncclComm *c = w->comm;

	switch (w->what) {
	case BROADCAST:
		return c->rank == w->peer;
	case SCATTER:
		return c->rank == w->peer ? c->size : 0;
	case REDUCE_SCATTER:
	case ALL_TO_ALL:
		return c->size;
	default:
		return 1;
	}
}

/* Elements [at, at + n) of each block have been put in by all, blocks `n` elements apart in the slots. */
static void take_out(struct work *w, size_t at, size_t n)
{
	struct ncclComm *c = w->comm;
	size_t size = number_size(w->dtype), bytes = n * size;
	char *out = (char *)w->recv + at * size;
	const void *in[RANKS_MAX];

	for (int r = 0; r < c->size; r++) {
		char *slot = segment_slot(c->seg, r);

		in[r] = w->what == REDUCE_SCATTER ? slot + (size_t)c->rank * bytes : slot;
		if (w->what == ALL_GATHER || (w->what == GATHER && c->rank == w->peer))
			memcpy(out + (size_t)r * w->count * size, slot, bytes);
		else if (w->what == ALL_TO_ALL)
			memcpy(out + (size_t)r * w->count * size, slot + (size_t)c->rank * bytes,
				bytes);
		else if (w->what == BROADCAST && r == w->peer)
			memcpy(out, slot, bytes);
		else if (w->what == SCATTER && r == w->peer)
			memcpy(out, slot + (size_t)c->rank * bytes, bytes);
	}
	if (w->what == ALL_REDUCE || w->what == REDUCE_SCATTER ||
		(w->what == REDUCE && c->rank == w->peer))
		number_reduce(out, in, c->size, n, w->dtype, w->op, w->scale);
}

static ncclResult_t collective(struct work *w)
{
	struct ncclComm *c = w->comm;
	size_t size = number_size(w->dtype), most = SLOT_BYTES / size / (size_t)c->size;
	int nin = blocks_in(w);

	if (w->what == SPLIT)
		return comm_split(w);
	if (w->what >= WINDOW)
		return window_work(w);
	for (size_t at = 0; at < w->count; at += most) {
		size_t n = w->count - at < most ? w->count - at : most;
		char *slot = segment_slot(c->seg, c->rank);

		for (int b = 0; b < nin; b++)
			memcpy(slot + (size_t)b * n * size,
				(const char *)w->send + ((size_t)b * w->count + at) * size,
				n * size);
		if (segment_barrier(c->seg))
			return ncclSystemError;
		take_out(w, at, n);
		if (segment_barrier(c->seg))
			return ncclSystemError;
	}
	return ncclSuccess;
}

static bool is_message(const struct work *w)
{
	return w->what == SEND || w->what == RECEIVE;
}

/* Messages between the same two ranks in the same direction are delivered in order. */
static bool is_next(const struct work *list, const struct work *w)
{
	for (; list != w; list = list->next)
		if (list->what == w->what && list->peer == w->peer &&
			list->done < list->count * number_size(list->dtype))
			return false;
	return true;
}

static ncclResult_t messages(struct work *list)
{
	unsigned tries = 0;
	bool left = true;

	while (left) {
		size_t moved = 0;

		left = false;
		for (struct work *w = list; w; w = w->next) {
			size_t bytes = w->count * number_size(w->dtype), rest = bytes - w->done, n;

			if (!is_message(w) || !rest)
				continue;
			left = true;
			if (!is_next(list, w))
				continue;
			n = w->what == SEND ? segment_send(w->comm->seg, w->peer,
						      (const char *)w->send + w->done, rest)
					    : segment_receive(w->comm->seg, w->peer,
						      (char *)w->recv + w->done, rest);
			w->done += n;
			moved += n;
		}
		if (moved)
			tries = 0;
		else if (left && !segment_wait(&tries))
			return ncclSystemError;
	}
	return ncclSuccess;
}

ncclResult_t work_run(struct work *list)
{
	ncclResult_t ret = ncclSuccess;

	for (struct work *w = list; w && ret == ncclSuccess; w = w->next)
		if (!is_message(w))
			ret = collective(w);
	return ret == ncclSuccess ? messages(list) : ret;
}
