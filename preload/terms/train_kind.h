/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter statistics ("kinds") and their columns, from train_kind.def. */
#ifndef PROBE_BASE_TRAIN_KIND_H
#define PROBE_BASE_TRAIN_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The columns between `name,step` and `shape,dtype`: the statistics of key `ops`, one column `value`, two bounds
 * of a value, the mean of some rows of a matrix, an event of memory, or counts in bins; or no file. Values of KIND_SUMMARY: the number of the file of signs (0: none), the CRC-32, then the shares of
 * elements in the intervals, and the share of zeros.
 */
enum train_kind_form {
	KIND_OPS,
	KIND_VALUE,
	KIND_BOUNDS,
	KIND_SAMPLE,
	KIND_EVENT,
	KIND_BINS,
	KIND_HISTOGRAM,
	KIND_SUMMARY
};

#define KIND_BINS_EACH 30 /* columns update_0 ... update_29, and ratio_0 ... ratio_29 */
#define KIND_VALUES_MAX (2 * KIND_BINS_EACH)

/*
 * Indices of the values of a KIND_HISTOGRAM, which has no file: first these values of the finite
 * elements, then the counts of the bins.
 */
enum { HISTOGRAM_LEAST, HISTOGRAM_MOST, HISTOGRAM_SUM, HISTOGRAM_SQUARES, HISTOGRAM_HEAD };
#define HISTOGRAM_BINS_MAX 90
#define HISTOGRAM_VALUES_MAX (HISTOGRAM_HEAD + HISTOGRAM_BINS_MAX)

enum train_kind {
#define TRAIN_KIND(id, word, form, help) TK_##id,
#define TRAIN_KIND_INNER(id, form) TK_##id,
#include "terms/train_kind.def"
	TRAIN_KINDS
};
#define KIND_BIT(id) (UINT32_C(1) << TK_##id)

enum train_op {
	TO_NONE,
#define TRAIN_OP(id, word, help) TO_##id,
#include "terms/train_kind.def"
	TRAIN_OPS_END
};

/* The columns in order, 4 bits each, the first one in the lowest bits; TO_NONE after the last. */
#define TRAIN_OPS_MAX 8
#define TRAIN_OPS_TEXT "[\"min\", \"max\", \"mean\", \"norm\", \"zeros\", \"nans\", \"infs\"]"
_Static_assert(TRAIN_OPS_END - 1 <= TRAIN_OPS_MAX, "all of them at once must fit");

static inline enum train_op get_train_op(uint32_t ops, unsigned i)
{
	return i < TRAIN_OPS_MAX ? (enum train_op)(ops >> 4 * i & 15) : TO_NONE;
}

struct train_kind_info {
	char word[20];
	uint8_t form; /* enum train_kind_form */
};
extern const struct train_kind_info train_kinds[TRAIN_KINDS];
extern const char train_op_words[TRAIN_OPS_END][8];

/* Number of values of a form before KIND_BINS; their columns, each with a comma at its end. */
struct train_form_info {
	uint8_t nvalue;
	char columns[48];
};
extern const struct train_form_info train_forms[KIND_BINS];

/* True if rows of that kind have a single number, which is their first value: of bounds, the upper one. */
static inline bool is_number_kind(unsigned kind)
{
	return train_kinds[kind].form >= KIND_VALUE && train_kinds[kind].form < KIND_EVENT;
}

/*
 * Indices of the values of a KIND_EVENT, which are integers. NaN: not known; the cell is empty. The last column, `at_ns`, is the
 * time of the row itself.
 */
enum { EVENT_CALL, EVENT_ADDRESS, EVENT_BYTES, EVENT_ALLOCATED, EVENT_RESERVED, EVENT_VALUES };

/* Words that keys `kinds` and `ops` accept, NULL-terminated. */
extern const char *const train_kind_names[], *const train_op_names[];

/* Returns the mask of kinds for a word of key `kinds`; 0 if it is not a valid word. */
uint32_t find_kind_mask(const char *word, size_t len);

/*
 * Parse words that are separated by newlines, as in struct config. parse_kinds() returns a mask of
 * kinds, parse_ops() the columns, each once.
 */
uint32_t parse_kinds(const char *words);
uint32_t parse_ops(const char *words);

#endif
