/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scalars of the steps (scalars_<a>-<b>.csv) over all ranks: those of the last steps of the
 * run, or of the requested steps.
 */
#ifndef PROBE_TOOLS_STEP_NUMBERS_H
#define PROBE_TOOLS_STEP_NUMBERS_H

#include "tools/lib/table.h"
#include "tools/probe/model/gather.h"

#define STEP_NUMBERS_SHOWN 5 /* steps shown; with --step up to STEP_NUMBERS_ASKED in JSON */
#define STEP_NUMBERS_ASKED 1000
#define STEP_NUMBERS_MAX 200000 /* maximum number of scalars in memory */

/* One scalar of a step, over the ranks that have it. */
struct step_number {
	/* a: step, or the first of several combined steps; b: interned name. */
	struct table_key key;
	double sum, min, max;
	/* Number of NaN values; they do not count for min and max, unless all are NaN. */
	unsigned nans;
	uint32_t nan; /* the first rank with a NaN */
	/* Number of values; if steps are combined, this can exceed the number of ranks. */
	unsigned ranks;
	uint32_t lowest, highest; /* index in folders of the ranks with min and max */
};

struct step_numbers {
	struct table table;
	uint64_t *step; /* the steps shown, ascending */
	unsigned nstep;
	uint32_t *name; /* in the order of terms/scalars.def */
	unsigned nname, cap_name;
};

void step_numbers_read(struct step_numbers *s, const struct gather *g, uint64_t lo, uint64_t hi);

/*
 * Does the same in parts. First step_numbers_begin() with the maximum number `most` of scalars to
 * keep. Then step_numbers_add() for each rank's folder `dir`, with steps lo to hi, `per` of them
 * combined. o: the additional rows of the rank's journal, or NULL. rank: any number that stands for
 * the rank. Then step_numbers_list(), which lists the steps.
 */
void step_numbers_begin(struct step_numbers *s, uint32_t most);
void step_numbers_add(struct step_numbers *s, const char *dir, const struct overlay *o,
	uint32_t rank, uint64_t lo, uint64_t hi, uint64_t per);
void step_numbers_list(struct step_numbers *s);

/*
 * Returns true if the ranks must agree on the scalar (terms/scalars.def) but do not. Then the mean
 * has no meaning. The minimum and the maximum are shown with their ranks.
 */
bool step_numbers_differ(uint32_t name, const struct step_number *n);

/* Returns the scalar `name` of `step`, or NULL if no rank has it. */
const struct step_number *step_numbers_find(
	const struct step_numbers *s, uint64_t step, uint32_t name);

void step_numbers_free(struct step_numbers *s);

void step_numbers_text(const struct step_numbers *s, const struct gather *g);
void step_numbers_json(const struct step_numbers *s, const struct gather *g);

#endif
