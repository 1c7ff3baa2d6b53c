/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two tensors of dumps or checkpoints element by element. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_ELEMENTS_H
#define PROBE_TOOLS_PROBE_COMPARE_ELEMENTS_H

#include "tools/probe/compare/arrays/arrays.h"
#include "tools/probe/compare/entries/rules.h"

/* The results of one pass over both tensors. */
struct element_sums {
	uint64_t n; /* number of elements */
	double dot, squares_a, squares_b, squares_diff;
	double max_abs, max_relative; /* NaN if one of the elements is NaN */
	/* Number of elements with a smaller relative error. */
	uint64_t thousandth, five_thousandths;
	bool odd_places; /* NaN or Inf at different positions */
	bool same_bytes; /* equal bytes and equal types */
};

/*
 * Compares tensor a of file fa with b of fb. They must have the same number of elements. Returns
 * NULL, or the problem.
 */
const char *compute_element_sums(struct element_sums *s, const struct array_file *fa,
	const struct array *a, const struct array_file *fb, const struct array *b);

/*
 * Fills r->metric, metric_value, note and differs. dir_a, dir_b: folders of the tensor files.
 * exact: compare bit by bit instead of by value.
 */
void compute_row_metrics(
	struct row *r, const char *dir_a, const char *dir_b, bool exact, struct pool *p);

#endif
