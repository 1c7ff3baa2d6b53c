/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A word of key slice: DIMENSION:BEGIN:END[:SIZE], the part of one dimension of a tensor. The meaning is that of msprobe 26.2's
 * `slice: [{dim, begin, end, size}]` (its slice_by_config()): BEGIN and END as in Python, so a negative number counts from the
 * dimension's end and an empty one is the first or the last; with SIZE only a dimension of this size is cut.
 */
#ifndef PROBE_CONFIG_SLICE_ITEM_H
#define PROBE_CONFIG_SLICE_ITEM_H

#include <stddef.h>
#include <stdint.h>

#define SLICE_TO_END INT64_MAX
#define SLICE_ANY_SIZE (-1)

struct slice_item {
	int64_t dim; /* from 0 */
	int64_t begin, end; /* end: SLICE_TO_END, if it is not given */
	int64_t size; /* SLICE_ANY_SIZE, if it is not given */
};

/* Returns NULL, or a static text with the reason why the word is wrong. */
const char *slice_item_parse(const char *text, size_t len, struct slice_item *item);

#endif
