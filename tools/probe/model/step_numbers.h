/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of steps (scalars_<a>-<b>.csv) over all ranks: of the last steps of the run, or of the requested ones. */
#ifndef PROBE_TOOLS_STEP_NUMBERS_H
#define PROBE_TOOLS_STEP_NUMBERS_H

#include "tools/lib/table.h"
#include "tools/probe/model/gather.h"

#define STEP_NUMBERS_SHOWN 5 /* steps; with --step up to STEP_NUMBERS_ASKED, in JSON */
#define STEP_NUMBERS_ASKED 1000
#define STEP_NUMBERS_MAX 200000 /* numbers that are kept */

/* A number of a step, over the ranks that have one. */
struct step_number {
	struct table_key key; /* a: step, or the first of the combined ones, b: name, interned */
	double sum, min, max;
	unsigned nans; /* NaN values: not in minimum and maximum, unless all are NaN */
	uint32_t nan; /* the first rank that has one */
	unsigned ranks; /* values: with combined steps more than there are ranks */
	uint32_t lowest, highest; /* ranks, by their place in folders */
};

struct step_numbers {
	struct table table;
	uint64_t *step; /* steps shown, ascending */
	unsigned nstep;
	uint32_t *name; /* in the order of terms/scalars.def */
	unsigned nname, cap_name;
};

void step_numbers_read(struct step_numbers *s, const struct gather *g, uint64_t lo, uint64_t hi);

/*
 * The same in parts: step_numbers_begin(); then each rank's folder (o: the additional rows of its journal, or NULL; rank: any
 * number for it), steps lo to hi, `per` of them combined; then the list of steps. most: how many numbers are kept.
 */
void step_numbers_begin(struct step_numbers *s, uint32_t most);
void step_numbers_add(struct step_numbers *s, const char *dir, const struct overlay *o,
	uint32_t rank, uint64_t lo, uint64_t hi, uint64_t per);
void step_numbers_list(struct step_numbers *s);

/*
 * True for a number on which ranks must agree (terms/scalars.def) and do not. Then the mean is not a number of the training:
 * the smallest and the largest are shown, with their ranks.
 */
bool step_numbers_differ(uint32_t name, const struct step_number *n);

/* NULL: no rank has that number in that step. */
const struct step_number *step_numbers_find(
	const struct step_numbers *s, uint64_t step, uint32_t name);

void step_numbers_free(struct step_numbers *s);

void step_numbers_text(const struct step_numbers *s, const struct gather *g);
void step_numbers_json(const struct step_numbers *s, const struct gather *g);

#endif
