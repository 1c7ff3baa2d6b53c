/* SPDX-License-Identifier: Apache-2.0 */
#include "api/layout_fact.h"

uint8_t layout_states[LAYOUT_FACTS_MAX];

const char *get_layout_state_name(enum layout_state s)
{
	return s == LAYOUT_VERIFIED ? "verified" : s == LAYOUT_FAILED ? "failed" : "unseen";
}

bool record_layout_fact(unsigned fact, bool holds)
{
	uint8_t was = (uint8_t)get_layout_state(fact),
		now = holds ? LAYOUT_VERIFIED : LAYOUT_FAILED;

	while (was != now && was != LAYOUT_FAILED)
		if (__atomic_compare_exchange_n(&layout_states[fact], &was, now, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	return false;
}
