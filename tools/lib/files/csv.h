/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a CSV file row by row, in memory that does not depend on the number of rows. Columns are
 * found by the names in the first line, so files with more or other columns can be read. Damaged
 * lines (wrong number of fields, open quote, last line without its end) are skipped and counted.
 */
#ifndef PROBE_TOOLS_LIB_CSV_H
#define PROBE_TOOLS_LIB_CSV_H

#include <endian.h>
#include <string.h>

#include "tools/lib/source.h"

#define CSV_COLUMNS_MAX 256
#define CSV_ROW_MAX (1u << 20) /* maximum number of bytes; a longer row is damaged */

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
	char *names; /* names of the columns, separated by NUL */
	uint64_t rows; /* number of rows returned so far */
	uint64_t damaged; /* number of lines skipped */
	bool truncated; /* the last line has no end, or the compressed data ends early */
	int err; /* -errno if reading failed; the rows returned before are good */
	bool usual; /* the current row has no quotes, and its fields lie one after the other in the buffer */
	struct csv_text field[CSV_COLUMNS_MAX]; /* fields of the current row, without quotes */
	struct csv_text none; /* the empty field, for missing columns */
};

/*
 * Opens the file and reads its first line. limit: number of bytes to read. buffer: bytes read at
 * once. Returns 0, -ENODATA if the first line is missing, -EINVAL if there are more than
 * CSV_COLUMNS_MAX columns, or -errno. Call csv_close() in any case.
 */
int csv_open(struct csv *c, const char *path, uint64_t limit, bool keep_open, size_t buffer);
/* Like csv_open(), for a file that `decoder` converts to text. decoder NULL: the file is text. */
int csv_open_decoded(struct csv *c, const char *path, uint64_t limit, bool keep_open, size_t buffer,
	const struct source_decoder *decoder);
void csv_close(struct csv *c);

/*
 * From now on csv_read_row() reads the rows in text (n bytes, ncolumns columns) instead of those of the
 * file.
 */
void csv_set_text(struct csv *c, const char *text, size_t n, unsigned ncolumns);

/*
 * Continues with the first row that begins after byte `offset` of the file. Does nothing if the
 * position is already farther or the file is compressed.
 */
void csv_set_position(struct csv *c, uint64_t offset);

/* Returns the index of the column `name`, or -1. */
int csv_find_column(const struct csv *c, const char *name);

/*
 * Sets column[i] to the index of the i-th name in `header`, or to -1. header: a header line of
 * libprobe (columns.h).
 */
void csv_find_columns(const struct csv *c, const char *header, int column[]);

/*
 * Reads the next row into field[], which is valid until the next call. Returns false after the last
 * row.
 */
bool csv_read_row(struct csv *c);

/* Returns a field of the current row. The field of column -1 is empty. */
static inline const struct csv_text *csv_get_field(const struct csv *c, int column)
{
	return column < 0 ? &c->none : &c->field[column];
}

/* Returns the original text of the field: undoes the escapes of csv_add_field() (sink/column.h). malloc'd. */
char *csv_copy_field(const struct csv_text *t);
/* Like csv_copy_field(), interned (tools/lib/intern.h). */
uint32_t csv_get_field_id(const struct csv_text *t);
/* Like csv_copy_field(), cut to cap - 1 bytes. */
void csv_copy_field_to(char *to, size_t cap, const struct csv_text *t);

static inline bool csv_is(const struct csv_text *t, const char *word)
{
	return strlen(word) == t->n && memcmp(t->s, word, t->n) == 0;
}

/*
 * Appends eight digits to *x. Returns false if one of them is not a digit. w: the text, its first character in the
 * lowest byte.
 */
static inline bool csv_add_digit_word(uint64_t w, uint64_t *x)
{
	if (((w & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
		    ((w + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4) !=
		UINT64_C(0x3333333333333333))
		return false;
	w -= UINT64_C(0x3030303030303030);
	/*
	 * Combines neighbouring digits to numbers of two digits, then these to four, then to eight.
	 */
	w = (w * 10 + (w >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	w = (w * 100 + (w >> 16)) & UINT64_C(0x0000ffff0000ffff);
	*x = *x * 100000000 + (uint32_t)(w * 10000 + (w >> 32));
	return true;
}

/* Parses eight digits and appends them to *x. Returns false if one of them is not a digit. */
static inline bool csv_add_8_digits(const char *text, uint64_t *x)
{
	uint64_t w;

	memcpy(&w, text, 8);
	return csv_add_digit_word(le64toh(w), x);
}

/*
 * Appends the last four of twenty digits to x and stores the result in *v. Returns false if one is
 * not a digit, or the number exceeds 2^64 - 1.
 */
bool csv_add_20th_digits(const char *text, uint64_t x, uint64_t *v);

/* Parses a non-negative decimal number. Returns false if the field has any other character. */
static inline bool csv_parse_u64(const struct csv_text *t, uint64_t *v)
{
	const char *p = t->s, *end = p + t->n;
	uint64_t x = 0;
	unsigned d;

	if (!t->n || t->n > 20)
		return false;
	for (; end - p >= 8; p += 8)
		if (!csv_add_8_digits(p, &x))
			return false;
	/* A number of twenty digits may exceed 2^64 - 1. */
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

/* Like csv_parse_u64(), with an optional sign. */
bool csv_parse_i64(const struct csv_text *t, int64_t *v);

/* Parses a number with decimal point, exponent, inf or nan, as in the C locale. */
bool csv_parse_double(const struct csv_text *t, double *v);
/*
 * Like csv_parse_double(), several times as fast. The result is the nearest double for up to 15 digits,
 * and for 17 digits that were printed from a double. Otherwise it is within 1e-15 of it, relative.
 */
bool csv_parse_double_fast(const struct csv_text *t, double *v);
/*
 * Like csv_parse_double_fast(). *digits: the digits before the exponent as one integer, without sign and point; 0 if
 * they are all zeros or more than 18.
 */
bool csv_parse_double_digits(const struct csv_text *t, double *v, uint64_t *digits);

#endif
