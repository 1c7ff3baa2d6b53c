/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the kinds of experts (training/params/experts.h): which there are for a router, and their names. */
#ifndef PROBE_TRAIN_EXPERT_ROWS_H
#define PROBE_TRAIN_EXPERT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/experts.h"
#include "training/params/kind.h"

/* Parts of a name, after the router's: numbers of experts, and then those of the balance. */
enum { EXPERT_PART_NONE = -1, EXPERT_PART_BALANCE = EXPERTS_MAX };

typedef void expert_value_fn(void *arg, enum train_kind kind, int part, double value);

/*
 * Calls fn for each row of the kinds tokens and balance. The drop rate is only defined if key
 * expert_capacity_factor is set.
 */
void emit_expert_tokens(const struct expert_counts *c, expert_value_fn *fn, void *arg);

/*
 * Writes a row named after the router and the part. v has step, micro_step and vpp_stage. Returns
 * false if the kind is not wanted.
 */
bool write_expert_row(
	struct train_value v, enum train_kind kind, const char *router, int part, double value);

/* The number of experts of a router whose weight is a matrix with these dimensions. */
static inline uint32_t get_expert_number(const int64_t *dims)
{
	return (uint32_t)(dims[0] < dims[1] ? dims[0] : dims[1]);
}

/* True if the elements are floating-point numbers, one for each expert of each token. */
bool has_number_per_expert(const struct buffer *b, uint32_t experts);

#endif
