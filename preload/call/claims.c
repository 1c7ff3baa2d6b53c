/* SPDX-License-Identifier: Apache-2.0 */
#include "call/claims.h"

struct claims all_claims[JOURNAL_THREADS];

struct claims *claims_get(unsigned place)
{
	all_claims[place].place = place + 1;
	return &all_claims[place];
}

unsigned claims_enter_inner(const struct claims *claims)
{
	unsigned level = 0;

	while (level < CLAIM_LEVELS &&
		atomic_load_explicit(&claims->in_call[level], memory_order_relaxed))
		level++;
	return level;
}

void claims_reset(struct claims *claims)
{
	for (unsigned i = 0; i < CLAIM_LEVELS; i++)
		claims_set(claims, i, 0);
}
