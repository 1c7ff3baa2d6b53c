/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a CSV file row by row, in memory that does not depend on the number of rows. Columns are found by the names in the first line, so
 * files with more or other columns can be read. Damaged lines (a wrong number of fields, an open quote, a last line without its end) are
 * skipped and counted.
 */
#ifndef PROBE_TOOLS_LIB_CSV_H
#define PROBE_TOOLS_LIB_CSV_H

#include <endian.h>
#include <string.h>

#include "tools/lib/source.h"

#define CSV_COLUMNS_MAX 256
#define CSV_ROW_MAX (1u << 20) /* bytes; a longer row is damaged */

struct csv_text {
	const char *s; /* not NUL-terminated */
	size_t n;
};

struct csv {
	struct source src;
	char *buf;
	size_t cap, at, end;
	bool eof;
	unsigned ncolumns;
	char *names; /* of the columns, NUL between them */
	uint64_t rows; /* returned so far */
	uint64_t damaged; /* lines skipped */
	bool truncated; /* the last line has no end, or compressed data ends in the middle */
	int err; /* -errno of reading; the rows so far are good */
	struct csv_text field[CSV_COLUMNS_MAX]; /* of the current row, without quotes */
	struct csv_text none;
};

/*
 * Reads the first line. buffer: bytes read at once. Returns 0, -ENODATA (not even a first line), -EINVAL (more than
 * CSV_COLUMNS_MAX columns), or -errno. Free with csv_close in any case.
 */
int csv_open(struct csv *c, const char *path, uint64_t limit, bool keep_open, size_t buffer);
/* The same for a file that a decoder turns into text; NULL: plain text. */
int csv_open_decoded(struct csv *c, const char *path, uint64_t limit, bool keep_open, size_t buffer,
	const struct source_decoder *decoder);
void csv_close(struct csv *c);

/* Rows of ncolumns columns that csv_next() reads from now on, in place of those of the file. */
void csv_set_text(struct csv *c, const char *text, size_t n, unsigned ncolumns);

/* Continues with the first row that begins after that byte of the file, if that is farther and the file is not compressed. */
void csv_skip_to(struct csv *c, uint64_t offset);

/* The column of that name, or -1. */
int csv_column(const struct csv *c, const char *name);

/* The columns named in one of libprobe's header lines (columns.h), in its order: the index of each, or -1. */
void csv_find_columns(const struct csv *c, const char *header, int column[]);

/* Reads the next row into field[], valid until the next call. false: no more. */
bool csv_next(struct csv *c);

/* A field of the row; empty for column -1. */
static inline const struct csv_text *csv_at(const struct csv *c, int column)
{
	return column < 0 ? &c->none : &c->field[column];
}

/* The original text of the job from which a field was made (csv_field() of sink/column.h); malloc'd. */
char *csv_copy_field(const struct csv_text *t);
uint32_t csv_intern_field(const struct csv_text *t); /* the same, by tools/lib/intern.h */
void csv_take_field(
	char *to, size_t cap, const struct csv_text *t); /* the same, cut to cap - 1 bytes */

static inline bool csv_is(const struct csv_text *t, const char *word)
{
	return strlen(word) == t->n && memcmp(t->s, word, t->n) == 0;
}

/* Parses eight digits, the first in the lowest byte; false: not all are digits. Appends them to *x. */
static inline bool csv_add_8_digits(const char *text, uint64_t *x)
{
	uint64_t w;

	memcpy(&w, text, 8);
	w = le64toh(w);
	if (((w & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
		    ((w + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4) !=
		UINT64_C(0x3333333333333333))
		return false;
	w -= UINT64_C(0x3030303030303030);
	/* Combines pairs of digits in every other byte, then four in every other pair of bytes, then all. */
	w = (w * 10 + (w >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	w = (w * 100 + (w >> 16)) & UINT64_C(0x0000ffff0000ffff);
	*x = *x * 100000000 + (uint32_t)(w * 10000 + (w >> 32));
	return true;
}

/* The last four of twenty digits; false: not all are digits, or it is above 2^64 - 1. */
bool csv_add_20th_digits(const char *text, uint64_t x, uint64_t *v);

/* Parses a non-negative decimal number that fills the field. */
static inline bool csv_u64(const struct csv_text *t, uint64_t *v)
{
	const char *p = t->s, *end = p + t->n;
	uint64_t x = 0;
	unsigned d;

	if (!t->n || t->n > 20)
		return false;
	for (; end - p >= 8; p += 8)
		if (!csv_add_8_digits(p, &x))
			return false;
	/* Twenty digits may be too many. */
	if (__builtin_expect(t->n == 20, 0))
		return csv_add_20th_digits(p, x, v);
	for (; p < end; p++) {
		d = (unsigned)(unsigned char)*p - '0';
		if (d > 9)
			return false;
		x = x * 10 + d;
	}
	*v = x;
	return true;
}

/* The same with a sign. */
bool csv_i64(const struct csv_text *t, int64_t *v);

/* A number with point, exponent, inf or nan, as in the C locale. */
bool csv_double(const struct csv_text *t, double *v);
/*
 * The same, several times as fast: the nearest double for up to 15 digits, and for 17 digits that were printed from one;
 * otherwise within 1e-15 of it.
 */
bool csv_quick_double(const struct csv_text *t, double *v);

#endif
