/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of calls_<a>-<b>.compact (docs/reference/compact-format.md): blocks, each with a header and columns of numbers.
 * Shared by the writer (block.h) and the reader (the tool). Integers are little-endian.
 */
#ifndef PROBE_FORMATS_COMPACT_LAYOUT_H
#define PROBE_FORMATS_COMPACT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "terms/dtype.h"

#define COMPACT_MAGIC "PRC1"
#define COMPACT_SUFFIX ".compact"
#define COMPACT_HEAD 20 /* bytes of the head */
#define COMPACT_SUM_FROM 12 /* the checksum covers all bytes of the block from this position on */
#define COMPACT_CALLS_MAX 4096 /* maximum per block */
#define COMPACT_ROWS_MAX 8192 /* maximum number of rows with a tensor per block */
#define COMPACT_BLOCK_MAX (8u << 20) /* bytes of a block */
#define COMPACT_SITES_MAX 65536 /* maximum entries of each dictionary */
#define COMPACT_TEXT_MAX 512 /* maximum bytes of a text: a cell is shorter */
#define COMPACT_DIMS_MAX 254

/* head: magic, bytes of the block, checksum, number of calls, flags, number of columns */
enum compact_head {
	COMPACT_AT_BYTES = 4,
	COMPACT_AT_SUM = 8,
	COMPACT_AT_CALLS = 12,
	COMPACT_AT_FLAGS = 16, /* two bytes */
	COMPACT_AT_COLUMNS = 18, /* two bytes */
};

/*
 * Flag: dictionaries are empty before this block. Other blocks continue the dictionaries of the
 * previous block.
 */
#define COMPACT_FIRST 1

enum compact_column {
	/* additions of this block to the dictionaries */
	CC_TEXTS,
	CC_COMMS,
	CC_FUNCTIONS,
	CC_TENSORS,
	CC_SITES,
	/* one number for each call */
	CC_SITE,
	CC_PRESENT, /* enum compact_present: which of the optional parts are in CC_CALL */
	CC_SEQ,
	CC_START,
	CC_DURATION,
	CC_CALL,
	/* for each row that has a tensor */
	CC_KIND, /* enum compact_row */
	CC_WIDTHS, /* enum compact_width, two bits each: min, max, mean, norm */
	CC_MIN,
	CC_MAX,
	CC_MEAN,
	CC_NORM,
	CC_ROW,
	COMPACT_COLUMNS
};

/* Optional parts of a call, in the order in which they are in CC_CALL. */
enum compact_present {
	CP_STEP = 1, /* step differs from that of the previous call: the difference */
	/*
	 * micro step differs from that of the previous call: 0 if the call has none, else 1 + its
	 * number
	 */
	CP_MICRO_STEP = 2,
	CP_COMM_SEQ = 4, /* comm_seq is not the expected one: the difference */
	CP_NO_COMM_SEQ = 8, /* no comm_seq, although one is expected; without a number */
	CP_PEER = 16, /* peer differs from that of the function's previous call: the difference */
	CP_TAG = 32,
	CP_WAIT = 64,
	CP_ISSUE = 128,
	CP_DEVICE = 256,
	CP_PARENT = 512, /* seq - parent */
	CP_ERROR = 1024,
	CP_NODE = 2048,
	CP_AWAIT = 4096, /* dtype, count */
};

/*
 * Optional parts of a row, in the order in which they are in CC_ROW, except CR_STATISTICS and
 * CR_NOSTATS.
 */
enum compact_row {
	CR_STATISTICS = 1,
	CR_NOSTATS = 2,
	CR_ZEROS = 4,
	CR_NANS = 8,
	CR_INFS = 16,
	CR_COMPONENTS =
		32, /* the number of measured components is not compact_compute_components() */
	CR_CHECKSUM = 64, /* four bytes */
	/* row has its own comm_seq, peer and tag: each 0: none, else 1 + the zigzag value */
	CR_OWN = 128,
};

enum compact_width {
	/* equal to the previous row of this io and lane in the block; 0 in the first one */
	CW_BEFORE,
	/* four bytes: float32; of an integer the lower half, sign-extended for signed types */
	CW_FOUR,
	CW_DECIMAL, /* five bytes: nine digits and an exponent */
	CW_EIGHT, /* eight bytes: float64 or the integer */
};

/*
 * Lanes, within which CW_BEFORE refers to the previous row: types printed with 9 digits, types
 * printed with 17, and integers.
 */
enum compact_lane { COMPACT_NARROW, COMPACT_WIDE, COMPACT_INTEGERS, COMPACT_LANES };

/* A decimal number: digits (10^8 to 10^9 - 1) * 10^(exponent - 8). */
#define COMPACT_DIGITS_MIN 100000000u
#define COMPACT_SIGN_BIT 30
#define COMPACT_EXPONENT_BIT 31
#define COMPACT_EXPONENT_BIAS 256

/*
 * True if min and max of the type are integers. The values of all types that are neither signed
 * nor unsigned are real numbers.
 */
static inline bool compact_has_integers(const struct dtype_info *d)
{
	return d->cls == DTC_SIGNED || d->cls == DTC_UNSIGNED;
}

/* Number of components that the statistics of a tensor of `count` elements cover. */
static inline uint64_t compact_compute_components(unsigned dtype, uint64_t count)
{
	return dtype == DT_COMPLEX64 || dtype == DT_COMPLEX128 || dtype == DT_FLOAT4_E2M1FN_X2
		       ? 2 * count
		       : count;
}

#define COMPACT_VARINT_MAX 10

/* Seven bits in each byte, the lowest first; the top bit is set if more bytes follow. */
static inline unsigned char *compact_write_number(unsigned char *p, uint64_t v)
{
	while (__builtin_expect(v >= 128, 0)) {
		*p++ = (unsigned char)(v | 128);
		v >>= 7;
	}
	*p++ = (unsigned char)v;
	return p;
}

/* Maps 0, -1, 1, -2 ... to 0, 1, 2, 3 ... */
static inline uint64_t compact_compute_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t compact_read_zigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static inline unsigned char *compact_write_signed(unsigned char *p, int64_t v)
{
	return compact_write_number(p, compact_compute_zigzag(v));
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the format needs a little-endian machine"
#endif
static inline void compact_write_u32(unsigned char *p, uint32_t v)
{
	memcpy(p, &v, 4);
}

static inline uint32_t compact_read_u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

#endif
