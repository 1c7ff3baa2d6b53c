/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a call's tensors on one side (inputs or outputs), added up row by row. Rows that
 * come as text and rows that come as numbers give the same result.
 */
#ifndef PROBE_TOOLS_SIDE_H
#define PROBE_TOOLS_SIDE_H

#include <math.h>

#include "tools/lib/files/csv.h"

#define SIDE_TELLING_DIGITS 7
#define SIDE_TELLING_INTEGER 1000000 /* the first integer with SIDE_TELLING_DIGITS digits */

struct side {
	/* Hash of the statistics and checksums of all rows; 0 if some were not measured. */
	uint64_t digest;
	uint64_t count; /* elements */
	double sum, squares; /* sum: of the elements; squares: of their squares */
	double least, most;
	uint32_t rows;
	bool blind; /* a row has no statistics */
	bool bad; /* an element is NaN or Inf, so the sum does not include all elements */
	bool telling; /* the numbers have enough digits that only equal tensors have equal ones */
};

/* The numbers of a row as printed in text, that is, rounded. */
struct side_row {
	uint64_t count, nans, infs;
	double min, max, mean, norm;
	/* Equal for equal text. An integer may have more digits than a double can hold. */
	uint64_t min_key, max_key;
	uint64_t zeros_key, checksum_key;
	bool measured; /* if false, only count, nans and infs are set */
	/*
	 * Min or max has SIDE_TELLING_DIGITS digits; need not be set if the side is telling
	 * already.
	 */
	bool telling;
};

void add_to_side(struct side *d, const struct side_row *r);

/*
 * Returns true if the number in t has SIDE_TELLING_DIGITS digits or more before its exponent, not
 * counting leading zeros.
 */
bool has_telling_digits(const struct csv_text *t);

#define DOUBLE_INTEGERS 0x1p53 /* from this value on, a double cannot represent every integer */

static inline uint64_t compute_double_key(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return v == v ? bits : UINT64_C(0x7ff8000000000000);
}

/* Returns a key that is equal for equal numbers. v: the value of the text t. */
uint64_t compute_text_key(const struct csv_text *t, double v);
/* Like compute_text_key(), for a number that is printed as digits only if it is an integer. */
uint64_t compute_wide_key(double v);

static inline uint64_t compute_signed_key(int64_t v)
{
	return v > -(INT64_C(1) << 53) && v < INT64_C(1) << 53 ? compute_double_key((double)v)
							       : (uint64_t)v;
}

static inline uint64_t compute_unsigned_key(uint64_t v)
{
	return v < UINT64_C(1) << 53 ? compute_double_key((double)v) : v;
}

static inline uint64_t compute_checksum_key(uint32_t crc)
{
	return UINT64_C(1) << 32 | crc;
}

#endif
