/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slowest calls. A collective operation counts once: its call on the rank that spent the
 * longest time in it.
 */
#ifndef PROBE_TOOLS_SLOW_H
#define PROBE_TOOLS_SLOW_H

#include "tools/probe/model/join/meet.h"

struct slow_call {
	struct call call;
	unsigned ranks; /* ranks that took part; 1: a local call */
	/*
	 * The rank that arrived last, and `lag`: how much later than the rank that waited longest,
	 * ns.
	 */
	uint32_t last_rank;
	uint64_t lag;
};

struct slow {
	struct slow_call *top; /* a heap, the shortest call first */
	unsigned n, max;
};

void slow_init(struct slow *s, unsigned max);
void slow_free(struct slow *s);
void slow_add(struct slow *s, const struct slow_call *c);
static inline bool slow_wants(const struct slow *s, uint64_t dur)
{
	return s->max && (s->n < s->max || dur > s->top[0].call.dur);
}
/* Sorts top[], the longest call first. Nothing may be added afterwards. */
void slow_sort(struct slow *s);

#endif
