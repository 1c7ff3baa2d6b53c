/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of two tensors, from the files of a dump or of a checkpoint, compared one by one. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_ELEMENTS_H
#define PROBE_TOOLS_PROBE_COMPARE_ELEMENTS_H

#include "tools/probe/compare/arrays/arrays.h"
#include "tools/probe/compare/entries/rules.h"

/* The results of one pass over both tensors. */
struct element_sums {
	uint64_t n; /* elements */
	double dot, squares_a, squares_b, squares_diff;
	double max_abs, max_relative; /* NaN: one of the elements was NaN */
	uint64_t thousandth, five_thousandths; /* elements with a smaller relative error */
	bool odd_places; /* NaN or Inf at different positions */
	bool same_bytes; /* equal bytes and the same type */
};

/* The tensors must have the same number of elements. NULL: success, otherwise the problem. */
const char *sum_elements(struct element_sums *s, const struct array_file *fa, const struct array *a,
	const struct array_file *fb, const struct array *b);

/* Fills metric, metric_value and note, and `differs`; exact: compares bit by bit, otherwise by value. */
void fill_row_metrics(
	struct row *r, const char *dir_a, const char *dir_b, bool exact, struct pool *p);

#endif
