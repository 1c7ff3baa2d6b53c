/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/parallel/turns.h"

#include <stdlib.h>

#include "tools/lib/tool.h"

/*
 * A turn loads what is known of its rank into the cache: some 100 KiB. With 4,096 ranks of 10,000 calls, turns of 64, 256 and 1,024
 * calls took 24, 21 and 24 s.
 */
#define TURN_MAX 256u
#define TURN_MIN 16u
/*
 * Calls in the turns of all ranks together: operations that not all ranks have entered are in memory (meet.c), and so are the calls
 * that threads have read ahead, about 400 bytes each.
 */
#define TURNS_CALLS (5u << 17)

void turns_init(struct turns *t, unsigned nrank)
{
	t->first = tool_alloc((nrank + 1) * sizeof(*t->first));
	t->due = tool_alloc((nrank + 1) * sizeof(*t->due));
	t->n = 0;
}

void turns_free(struct turns *t)
{
	free(t->first);
	free(t->due);
}

void turns_add(struct turns *t, uint32_t rank, uint64_t start)
{
	unsigned i = t->n++;

	for (; i && t->first[(i - 1) / 2].start > start; i = (i - 1) / 2)
		t->first[i] = t->first[(i - 1) / 2];
	t->first[i] = (struct turn){start, rank};
}

uint32_t turns_remove_first(struct turns *t)
{
	uint32_t rank = t->first[0].rank;
	struct turn last = t->first[--t->n];
	unsigned i = 0, k;

	while ((k = 2 * i + 1) < t->n) {
		k += k + 1 < t->n && t->first[k + 1].start < t->first[k].start;
		if (t->first[k].start >= last.start)
			break;
		t->first[i] = t->first[k];
		i = k;
	}
	t->first[i] = last;
	return rank;
}

static int compare_ranks(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

unsigned turns_remove_due(struct turns *t, uint64_t until)
{
	unsigned n = 0;

	while (t->n && t->first[0].start < until)
		t->due[n++] = turns_remove_first(t);
	qsort(t->due, n, sizeof(*t->due), compare_ranks);
	return n;
}

unsigned turns_choose_length(unsigned nrank)
{
	unsigned n = TURNS_CALLS / (nrank ? nrank : 1) & ~1u;

	return n > TURN_MAX ? TURN_MAX : n < TURN_MIN ? TURN_MIN : n;
}
