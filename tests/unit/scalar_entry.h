/* SPDX-License-Identifier: Apache-2.0 */
/* A number of a step, as the job's thread enters it into the journal. */
#ifndef PROBE_TESTS_SCALAR_ENTRY_H
#define PROBE_TESTS_SCALAR_ENTRY_H

#include "terms/scalar.h"
#include "core_helper.h"

static void put_scalar_entry(struct chain *c, enum scalar which, uint32_t step, double value)
{
	struct journal_scalar *e = chain_reserve(c, sizeof(*e), NO_WAKE);

	assert_non_null(e);
	*e = (struct journal_scalar){.e = {.bytes = sizeof(*e), .type = JE_SCALAR},
		.value = value,
		.step = step,
		.which = (uint16_t)which,
		.group = JOURNAL_NO_GROUP};
	chain_publish(c, sizeof(*e));
}

#endif
