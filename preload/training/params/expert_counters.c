/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/expert_counters.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/log.h"

#define SLOTS (2 * COUNTED_ROUTERS_MAX)
/*
 * Slots that are read to find a counter, at most. At most half of the slots are used: then 1.5 are
 * read on average.
 */
#define PROBES_MAX 64u

/* The counters of each router at its last call: open addressing. Entries stay. */
static struct counter {
	const void *router;
	struct expert_counts *was; /* NULL: not called yet */
} counters[SLOTS];
static uint32_t ncounter;

/* Allocates counts that are never freed. Returns NULL if there is no memory. */
static struct expert_counts *map_counts(void)
{
	void *at = mmap(NULL, sizeof(struct expert_counts), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Returns NULL if there are too many routers. */
static struct counter *find_or_add_counter(const void *router)
{
	uint32_t slot = (uint32_t)hash_mix((uintptr_t)router);

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		struct counter *k = &counters[(slot + i) % SLOTS];

		if (!k->router && ncounter == COUNTED_ROUTERS_MAX)
			break;
		if (!k->router) {
			k->router = router;
			ncounter++;
		}
		if (k->router == router)
			return k;
	}
	log_loss(LOSS_ENTRY,
		"token counters of more than %u routers: further ones are not recorded", ncounter);
	return NULL;
}

bool compute_counter_growth(
	const void *router, const struct expert_counts *now, struct expert_counts *growth)
{
	struct counter *k = find_or_add_counter(router);
	bool known, reset = false;

	if (!k)
		return false;
	known = k->was && k->was->n == now->n;
	if (!k->was)
		k->was = map_counts();
	if (!k->was)
		return false;
	for (uint32_t i = 0; known && i < now->n; i++)
		reset |= now->at[i] < k->was->at[i];
	growth->n = now->n;
	for (uint32_t i = 0; i < now->n; i++)
		growth->at[i] = now->at[i] - (known && !reset ? k->was->at[i] : 0);
	memcpy(k->was, now, sizeof(*now));
	return known;
}
