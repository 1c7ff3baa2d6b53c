/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/causes.h"

#include <string.h>

#include "tools/probe/rules/report.h"

static bool is_of_values(const struct finding *f)
{
	return strcmp(f->kind, "nan") == 0 || strcmp(f->kind, "inf") == 0 ||
	       strcmp(f->kind, "spike") == 0;
}

/* Bytes read as a wrong type give arbitrary numbers: odd values in that call come from its type. */
static void put_types_before_values(struct report *r)
{
	for (unsigned i = 0; i < r->nfinding; i++) {
		struct finding *type = &r->finding[i];

		if (!type->has_call || !type->what || strcmp(type->what, "dtype") != 0)
			continue;
		for (unsigned k = 0; k < r->nfinding; k++) {
			const struct finding *f = &r->finding[k];

			if (f->has_call && is_of_values(f) && f->call.rank == type->call.rank &&
				f->call.seq == type->call.seq && f->event &&
				type->event >= f->event)
				type->event = f->event - 1;
		}
	}
}

static bool is_of_collective(const struct finding *f)
{
	return f->has_call && f->call.comm && f->call.comm_seq != NO_NUMBER &&
	       !(f->call.bits & (CALL_P2P | CALL_LOCAL));
}

/* The rank passed no elements that can be read: its call was refused. */
static bool was_refused(const struct call *c)
{
	return c->bits & CALL_ERROR && !c->count && !c->in_bytes && !c->out_bytes;
}

/*
 * A refused call took no part in its operation, but it has a number: from there on one number is not one operation on all ranks, and
 * mismatches follow from that. So does a mismatch of sizes, as this rank has none.
 */
static void put_errors_before_disagreement(struct report *r)
{
	for (unsigned i = 0; i < r->nfinding; i++) {
		struct finding *error = &r->finding[i];

		if (strcmp(error->kind, "error") != 0 || !is_of_collective(error) ||
			!was_refused(&error->call))
			continue;
		for (unsigned k = 0; k < r->nfinding; k++) {
			struct finding *f = &r->finding[k];

			if (k != i && is_of_collective(f) && f->event &&
				f->call.comm == error->call.comm && f->event <= error->event &&
				f->call.comm_seq >= error->call.comm_seq)
				f->event = error->event + 1;
		}
	}
}

void put_causes_first(struct report *r)
{
	put_types_before_values(r);
	put_errors_before_disagreement(r);
}
