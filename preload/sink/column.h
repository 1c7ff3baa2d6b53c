/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How values of columns are written: PUT_<type>() for the types of journal/columns.def. Each
 * macro uses a variable `out`, a pointer to the text. Types used only by calls_*.csv are in
 * calls_csv.c.
 */
#ifndef PROBE_SINK_COLUMN_H
#define PROBE_SINK_COLUMN_H

#include "text/text.h"
#include "journal/journal.h"

#define ROW_STRING_MAX 500 /* bytes written at most for an api or a name */

/*
 * Writes text of the job as a CSV field: quoted if necessary (RFC 4180), UTF-8 as in
 * text_format_escape(), and with a ' before a leading = + - @ (or a ' followed by one of them), so that
 * no spreadsheet takes it for a formula. The tool reads it back by csv_text_of(). `out` needs
 * space for CSV_FIELD_SPACE bytes for each byte of s, and 4.
 */
void csv_add_field(struct text *out, const char *s);
#define CSV_FIELD_SPACE 4
/* Writes whole characters of s, at most max bytes; needs at most 2 * max + 2 bytes in `out`. */
void csv_add_field_max(struct text *out, const char *s, size_t max);

/* Like csv_add_field_max(), but writes at p without checking for space: at most 2 * max + 3 bytes. Returns the end. */
char *csv_write_field(char *p, const char *s, size_t max);

/* loss, learning-rate/group1, learning-rate/opt1.group0 */
struct record_scalar;
void write_scalar_name(struct text *out, const struct record_scalar *e);

/*
 * Ends a row: replaces the comma after its last field (or the last byte, if the text was cut) by
 * a newline.
 */
void csv_close_row(struct text *out);

static inline void write_comma(struct text *out)
{
	text_add_char(out, ',');
}

static inline void write_nonzero(struct text *out, uint64_t v)
{
	if (v)
		text_add_u64(out, v);
}

static inline void write_known_number(struct text *out, int64_t v)
{
	if (v != JOURNAL_NONE64)
		text_add_i64(out, v);
}

static inline void write_known_i32(struct text *out, int32_t v)
{
	if (v != JOURNAL_NONE)
		text_add_i64(out, v);
}

static inline void write_known_rank(struct text *out, int32_t v)
{
	if (v >= 0)
		text_add_i64(out, v);
}

static inline void write_nonzero_id(struct text *out, uint64_t v)
{
	if (v)
		text_add_hex(out, v, 16);
}

#define PUT_WHOLE(v) text_add_u64(out, v)
#define PUT_NONZERO(v) write_nonzero(out, v) /* 0: an empty field */
#define PUT_INTEGER(v) text_add_i64(out, v)
#define PUT_NUMBER(v) write_known_number(out, v) /* JOURNAL_NONE64: an empty field */
#define PUT_NUMBER32(v) write_known_i32(out, v) /* JOURNAL_NONE: an empty field */
#define PUT_RANK(v) write_known_rank(out, v) /* negative: an empty field */
#define PUT_HEX(v) text_add_hex(out, v, 16)
#define PUT_ID(v) write_nonzero_id(out, v) /* 0: an empty field */
#define PUT_WORD(s) text_add_string(out, s) /* never needs quotes */
#define PUT_TEXT(s) csv_add_field_max(out, s, ROW_STRING_MAX)
#define PUT_LONG_TEXT(s) csv_add_field(out, s)
#define PUT_EMPTY(v) ((void)0)

#endif
