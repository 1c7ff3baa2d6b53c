/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a call's tensors on one side (inputs or outputs), added up row by row. A row may come from text or from numbers: both give the same. */
#ifndef PROBE_TOOLS_SIDE_H
#define PROBE_TOOLS_SIDE_H

#include <math.h>

#include "tools/lib/files/csv.h"

#define SIDE_TELLING_DIGITS 7
#define SIDE_TELLING_INTEGER 1000000 /* the first integer with that many digits */

struct side {
	uint64_t
		digest; /* of the rows' statistics and checksums; 0: not all of them were measured */
	uint64_t count; /* elements */
	double sum, squares; /* of the elements and of their squares */
	double least, most;
	uint32_t rows;
	bool blind; /* a row has no statistics */
	bool bad; /* NaN or Inf: the sum does not include all elements */
	bool telling; /* the numbers have enough digits that only equal tensors have the same ones */
};

/* A row's numbers, as printed in text: rounded to its digits. */
struct side_row {
	uint64_t count, nans, infs;
	double min, max, mean, norm;
	uint64_t min_key,
		max_key; /* equal for equal text: an integer may have more digits than a double */
	uint64_t zeros_key, checksum_key;
	bool measured; /* otherwise only count, nans and infs are set */
	bool telling; /* min or max has SIDE_TELLING_DIGITS; not needed if the side has it */
};

void add_to_side(struct side *d, const struct side_row *r);

/* Whether the number has SIDE_TELLING_DIGITS digits before its exponent, not counting leading zeros. */
bool has_telling_digits(const struct csv_text *t);

#define DOUBLE_INTEGERS 0x1p53 /* from here on a double cannot represent every integer */

static inline uint64_t compute_double_key(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return v == v ? bits : UINT64_C(0x7ff8000000000000);
}

/* v: the text's value. */
uint64_t compute_text_key(const struct csv_text *t, double v);
/* For a number whose text consists of digits only if it is an integer. */
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
