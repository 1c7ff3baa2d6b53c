/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/place.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "config/rooms/kinds.h"
#include "journal/layout.h"
#include "session/generation.h"
#include "session/state.h"

#define GROUPS_MAX 32u /* maximum number of communicators; additional ones are ignored */

/* Traffic of a communicator. Written by the calling threads; read at optimizer steps. */
static struct group {
	_Atomic uint64_t id; /* 0: the entry is free */
	_Atomic int32_t place, size; /* size 0: `place` is not known yet */
	_Atomic uint64_t gradients; /* number of gradient elements */
	/* reductions: in forward passes, in backward passes */
	_Atomic uint32_t messages, reductions[2];
} groups[GROUPS_MAX];

bool train_places_wanted(void)
{
	const struct config *c = get_config();
	const struct kinds_keys *keys = get_kinds_keys(c);

	return (keys->dp_ranks.n && !keys->dp_group.n) || (keys->tp_ranks.n && !keys->tp_group.n) ||
	       (keys->pp_ranks.n && !keys->process_group.n);
}

static struct group *find_or_add_group(uint64_t id)
{
	for (uint32_t i = (uint32_t)hash_mix(id), k = 0; k < GROUPS_MAX; k++) {
		struct group *g = &groups[(i + k) % GROUPS_MAX];
		uint64_t was = 0;

		if (atomic_load_explicit(&g->id, memory_order_relaxed) == id ||
			atomic_compare_exchange_strong(&g->id, &was, id) || was == id)
			return g;
	}
	return NULL;
}

void train_record_group_use(enum train_carries carried, uint64_t comm, int32_t place, int32_t size,
	uint64_t elements, uint32_t phase)
{
	struct group *g = comm && size > 1 ? find_or_add_group(comm) : NULL;

	if (!g)
		return;
	atomic_store_explicit(&g->place, place, memory_order_relaxed);
	atomic_store_explicit(&g->size, size, memory_order_release);
	if (carried == CARRIES_GRADIENTS)
		atomic_fetch_add_explicit(&g->gradients, elements, memory_order_relaxed);
	else if (carried == CARRIES_MESSAGE)
		atomic_fetch_add_explicit(&g->messages, 1, memory_order_relaxed);
	else if (carried == CARRIES_REDUCTION &&
		 (phase == PHASE_FORWARD || phase == PHASE_BACKWARD))
		atomic_fetch_add_explicit(
			&g->reductions[phase == PHASE_BACKWARD], 1, memory_order_relaxed);
}

/* Returns how much traffic shows that the group has the role of `axis`; 0: none. */
static uint64_t compute_group_rating(const struct group *g, enum train_axis axis)
{
	uint64_t forward = atomic_load_explicit(&g->reductions[0], memory_order_relaxed),
		 backward = atomic_load_explicit(&g->reductions[1], memory_order_relaxed),
		 gradients = atomic_load_explicit(&g->gradients, memory_order_relaxed);

	switch (axis) {
	case AXIS_DATA:
		return gradients;
	case AXIS_TENSOR:
		/*
		 * Averaging a loss does not show tensor parallelism: it occurs once in a step,
		 * and not in a backward pass.
		 */
		return gradients || !backward ? 0 : forward;
	case AXIS_PIPELINE:
		/* In a group of all ranks, messages may belong to anything. */
		return g->size == session.world_size ? 0 : g->messages;
	}
	return 0;
}

int32_t train_get_place(enum train_axis axis)
{
	const struct group *best = NULL;
	uint64_t most = 0;

	for (unsigned i = 0; i < GROUPS_MAX; i++) {
		uint64_t n = atomic_load_explicit(&groups[i].size, memory_order_acquire)
				     ? compute_group_rating(&groups[i], axis)
				     : 0;

		if (n > most) {
			most = n;
			best = &groups[i];
		}
	}
	return best ? best->place : -1;
}

bool train_is_one_group(void)
{
	bool any = false;

	for (unsigned i = 0; i < GROUPS_MAX; i++) {
		const struct group *g = &groups[i];
		int32_t size = atomic_load_explicit(&g->size, memory_order_acquire);

		if (size && (size != session.world_size || g->messages ||
				    compute_group_rating(g, AXIS_TENSOR)))
			return false;
		any |= size != 0;
	}
	return any;
}

void train_places_forked(void)
{
	memset(groups, 0, sizeof(groups));
}
