/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/files/csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "text/text.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"

#define BUFFER_MIN 4096
#define EXACT_DIGITS (UINT64_C(1) << 53) /* a double can represent all integers below this */

/* Reads more bytes after those that remain. Returns false if the file has no more. */
static bool read_csv_buffer(struct csv *c)
{
	if (c->eof)
		return false;
	if (c->at) {
		memmove(c->buf, c->buf + c->at, c->end - c->at);
		c->end -= c->at;
		c->at = 0;
	}
	if (c->end == c->cap) {
		if (c->cap > CSV_ROW_MAX)
			return false;
		c->cap *= 2;
		c->buf = tool_realloc(c->buf, c->cap);
	}

	ssize_t n = source_read(&c->src, c->buf + c->end, c->cap - c->end);

	if (n <= 0) {
		c->eof = true;
		c->err = n < 0 ? (int)n : 0;
		return false;
	}
	c->end += (size_t)n;
	return true;
}

/*
 * Returns the length of the line at c->at without its LF, or -1 if the buffer has no complete line.
 * *quoted: the line contains a quote.
 */
static ssize_t measure_csv_line(struct csv *c, bool *quoted)
{
	size_t seen = 0;

	for (;;) {
		char *p = c->buf + c->at, *nl = memchr(p + seen, '\n', c->end - c->at - seen);

		if (nl) {
			*quoted = memchr(p, '"', (size_t)(nl - p)) != NULL;
			return nl - p;
		}
		seen = c->end - c->at;
		if (!read_csv_buffer(c))
			return -1;
	}
}

/*
 * Splits a line without quotes at its commas. Returns the number of fields, which may exceed
 * CSV_COLUMNS_MAX.
 */
static unsigned parse_plain_line(struct csv_text *field, const char *p, size_t n)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), commas = UINT64_C(0x2c2c2c2c2c2c2c2c);
	const char *start = p, *end = p + n;
	unsigned f = 0;

#define FIELD(at)                                                                  \
	do {                                                                       \
		if (f < CSV_COLUMNS_MAX)                                           \
			field[f] = (struct csv_text){start, (size_t)((at)-start)}; \
		f++;                                                               \
		start = (at) + 1;                                                  \
	} while (0)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	/* Handles eight bytes at a time: the top bit of each byte of `hit` marks a comma. */
	for (; end - p >= 8; p += 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		w ^= commas;
		for (uint64_t hit = ~(((w & low) + low) | w | low); hit; hit &= hit - 1)
			FIELD(p + (__builtin_ctzll(hit) >> 3));
	}
#endif
	for (; p < end; p++)
		if (*p == ',')
			FIELD(p);
	FIELD(end);
#undef FIELD
	return f;
}

#if defined(__SSE2__)
#define BLOCK ((ssize_t)(2 * sizeof(__m128i)))

/* Returns a bit for each byte of both words that is equal. */
static inline uint32_t find_equal_bytes(__m128i first, __m128i second, __m128i byte)
{
	return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(first, byte)) |
	       (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(second, byte)) << 16;
}

/*
 * Splits the line at c->at in one pass and moves c->at after it. Returns the number of fields. Returns 0,
 * with nothing changed, if the line has quotes or is too near the end of the buffer to read whole blocks.
 * Nearly all lines have neither.
 */
static unsigned parse_usual_line(struct csv *c)
{
	const __m128i comma = _mm_set1_epi8(','), newline = _mm_set1_epi8('\n'),
		      quote = _mm_set1_epi8('"');
	const char *p = c->buf + c->at, *end = c->buf + c->end, *start = p, *at;
	const struct csv_text *most = c->field + CSV_COLUMNS_MAX - BLOCK;
	struct csv_text *to = c->field;

	for (; end - p >= BLOCK && to < most; p += BLOCK) {
		__m128i w = _mm_loadu_si128((const __m128i *)p),
			more = _mm_loadu_si128((const __m128i *)p + 1);
		uint32_t commas = find_equal_bytes(w, more, comma);
		uint32_t stops =
			find_equal_bytes(w, more, newline) | find_equal_bytes(w, more, quote);

		/* The commas before the first line end or quote. */
		for (uint32_t hit = commas & ((stops & -stops) - 1); hit; hit &= hit - 1) {
			at = p + (unsigned)__builtin_ctz(hit);
			to->s = start;
			to->n = (size_t)(at - start);
			to++;
			start = at + 1;
		}
		if (stops) {
			p += __builtin_ctz(stops);
			if (*p == '"')
				return 0;
			c->at = (size_t)(p + 1 - c->buf);
			p -= p > start && p[-1] == '\r';
			*to++ = (struct csv_text){start, (size_t)(p - start)};
			return (unsigned)(to - c->field);
		}
	}
	return 0;
}
#else
static unsigned parse_usual_line(struct csv *c)
{
	(void)c;
	return 0;
}
#endif

/* Replaces "" by one quote. */
static void merge_doubled_quotes(struct csv_text *t)
{
	char *to = (char *)t->s;
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		to[n++] = t->s[i];
		i += t->s[i] == '"';
	}
	t->n = n;
}

/*
 * Splits a row with quotes, which may span several lines and is completely in the buffer. Returns
 * the number of fields; *bytes: length of the row including its end. Returns 0, with nothing
 * changed, if there is text after a closing quote.
 */
static unsigned split_quoted(struct csv *c, size_t *bytes)
{
	char *p = c->buf + c->at, *end = c->buf + c->end;
	bool doubled[CSV_COLUMNS_MAX] = {false};
	unsigned f = 0;

	for (;;) {
		char *start = p, *to;
		bool twice = false;

		if (p < end && *p == '"') {
			start = ++p;
			for (; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
				twice |= *p == '"';
				p += *p == '"';
			}
			to = p++;
			if (p < end && *p == '\r')
				p++;
		} else {
			while (p < end && *p != ',' && *p != '\n')
				p++;
			to = p < end && *p == '\n' && p > start && p[-1] == '\r' ? p - 1 : p;
		}
		if (p >= end || (*p != ',' && *p != '\n'))
			return 0;
		if (f < CSV_COLUMNS_MAX) {
			c->field[f] = (struct csv_text){start, (size_t)(to - start)};
			doubled[f] = twice;
		}
		f++;
		if (*p++ == '\n')
			break;
	}
	*bytes = (size_t)(p - (c->buf + c->at));
	for (unsigned i = 0; i < f && i < CSV_COLUMNS_MAX; i++)
		if (doubled[i])
			merge_doubled_quotes(&c->field[i]);
	return f;
}

/*
 * Returns true if the row that begins at c->at is completely in the buffer, by the rules of
 * split_quoted(): a quote opens only at the start of a field. Reads more bytes if needed.
 */
static bool is_row_whole(struct csv *c)
{
	enum { START, BARE, QUOTED, CLOSED } at = START;

	for (size_t i = 0;; i++) {
		char ch;

		while (i >= c->end - c->at)
			if (i > CSV_ROW_MAX || !read_csv_buffer(c))
				return false;
		ch = c->buf[c->at + i];
		if (at == QUOTED)
			at = ch == '"' ? CLOSED : QUOTED;
		else if (at == CLOSED && ch == '"')
			at = QUOTED; /* a doubled quote */
		else if (ch == '\n')
			return true;
		else
			at = ch == ',' ? START : at == START && ch == '"' ? QUOTED : BARE;
	}
}

/*
 * Reads the next row into field[]. Returns the number of fields, or 0 at the end. If the number is
 * not ncolumns, the row is damaged.
 */
static unsigned read_csv_row(struct csv *c)
{
	unsigned usual = parse_usual_line(c);
	bool quoted;
	ssize_t n;

	c->usual = usual != 0;
	if (__builtin_expect(usual, 1))
		return usual;
	for (;;) {
		n = measure_csv_line(c, &quoted);
		if (n >= 0)
			break;
		/* This line is longer than any valid row, or is the rest of a truncated file. */
		if (!c->eof && c->end - c->at > CSV_ROW_MAX) {
			c->at = c->end = 0;
			c->damaged++;
			while (read_csv_buffer(c)) {
				char *nl = memchr(c->buf, '\n', c->end);

				c->at = nl ? (size_t)(nl - c->buf) + 1 : c->end;
				if (nl)
					break;
			}
			continue;
		}
		c->truncated |= c->end > c->at || c->src.truncated;
		c->at = c->end;
		return 0;
	}

	char *p = c->buf + c->at;

	if (!quoted) {
		c->at += (size_t)n + 1;
		return parse_plain_line(
			c->field, p, n && p[n - 1] == '\r' ? (size_t)n - 1 : (size_t)n);
	}

	size_t bytes = 0;
	unsigned f = 0;

	if (is_row_whole(c))
		f = split_quoted(c, &bytes);
	if (f) {
		c->at += bytes;
		return f;
	}
	/* An open quote must not use up the rest of the file: only this line is lost. */
	n = measure_csv_line(c, &quoted);
	c->at += n < 0 ? 0 : (size_t)n + 1;
	return UINT32_MAX;
}

int csv_open(struct csv *c, const char *path, uint64_t limit, bool keep_open, size_t buffer)
{
	return csv_open_decoded(c, path, limit, keep_open, buffer, NULL);
}

int csv_open_decoded(struct csv *c, const char *path, uint64_t limit, bool keep_open, size_t buffer,
	const struct source_decoder *decoder)
{
	size_t bytes = 0;

	memset(c, 0, offsetof(struct csv, field));
	c->none = (struct csv_text){"", 0};
	c->src.fd = -1;

	int err = source_open(&c->src, path, limit, keep_open);

	if (err)
		return err;
	/* A small file needs only a buffer of its own size. Each rank has several such files. */
	buffer = c->src.size < buffer ? (size_t)c->src.size + 1 : buffer;
	if (decoder)
		source_set_decoder(&c->src, decoder);
	c->cap = buffer < BUFFER_MIN ? BUFFER_MIN : buffer;
	c->buf = tool_realloc(NULL, c->cap);

	unsigned n = read_csv_row(c);

	if (!n)
		return c->err ? c->err : -ENODATA;
	if (n > CSV_COLUMNS_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++)
		bytes += c->field[i].n + 1;

	char *to = c->names = tool_alloc(bytes);

	for (unsigned i = 0; i < n; i++, to++) {
		memcpy(to, c->field[i].s, c->field[i].n);
		to += c->field[i].n;
	}
	c->ncolumns = n;
	return 0;
}

void csv_close(struct csv *c)
{
	source_close(&c->src);
	free(c->buf);
	free(c->names);
	c->buf = c->names = NULL;
	c->at = c->end = c->cap = 0;
	c->eof = true;
}

void csv_set_text(struct csv *c, const char *text, size_t n, unsigned ncolumns)
{
	if (n > c->cap) {
		c->buf = tool_realloc(c->buf, n);
		c->cap = n;
	}
	memcpy(c->buf, text, n);
	c->at = 0;
	c->end = n;
	c->eof = true;
	c->ncolumns = ncolumns;
}

void csv_set_position(struct csv *c, uint64_t offset)
{
	bool quoted;
	ssize_t n;

	if (c->src.decoder) {
		c->at = c->end;
		c->src.decoder->skip(c->src.decoding, &c->src, offset);
		return;
	}
	if (c->src.gz || offset <= c->src.at - (c->end - c->at))
		return;
	c->at = c->end = 0;
	c->src.at = offset;
	n = measure_csv_line(c, &quoted);
	if (n >= 0)
		c->at += (size_t)n + 1;
}

int csv_find_column(const struct csv *c, const char *name)
{
	const char *p = c->names;

	for (unsigned i = 0; p && i < c->ncolumns; i++, p += strlen(p) + 1)
		if (strcmp(p, name) == 0)
			return (int)i;
	return -1;
}

/* Returns true if csv_add_field() put a ' before the text, so that spreadsheets do not run it as a formula. */
static bool has_formula_guard(const struct csv_text *t)
{
	size_t n = 0;

	while (n < t->n && t->s[n] == '\'')
		n++;
	return n && n < t->n && memchr("=+-@", t->s[n], 4);
}

char *csv_copy_field(const struct csv_text *t)
{
	bool marked = has_formula_guard(t);
	char *text = tool_strndup(t->s + marked, t->n - marked);

	text[text_parse_escapes(text, text, strlen(text))] = 0; /* a damaged field may hold a NUL */
	return text;
}

void csv_copy_field_to(char *to, size_t cap, const struct csv_text *t)
{
	char *text = csv_copy_field(t);

	snprintf(to, cap, "%s", text);
	free(text);
}

uint32_t csv_get_field_id(const struct csv_text *t)
{
	char *text;
	uint32_t id;

	if (!memchr(t->s, '\\', t->n) && !has_formula_guard(t))
		return intern_add_text(t->s, t->n);
	text = csv_copy_field(t);
	id = intern_add_text(text, strlen(text));
	free(text);
	return id;
}

void csv_find_columns(const struct csv *c, const char *header, int column[])
{
	char name[64];

	for (unsigned i = 0; *header && *header != '\n'; i++) {
		size_t n = strcspn(header, ",\n");

		snprintf(name, sizeof(name), "%.*s", (int)n, header);
		column[i] = csv_find_column(c, name);
		header += n + (header[n] == ',');
	}
}

bool csv_read_row(struct csv *c)
{
	for (;;) {
		unsigned n = read_csv_row(c);

		if (!n)
			return false;
		if (n == c->ncolumns) {
			c->rows++;
			return true;
		}
		c->damaged++;
	}
}

bool csv_add_20th_digits(const char *text, uint64_t x, uint64_t *v)
{
	for (unsigned i = 0; i < 4; i++) {
		unsigned d = (unsigned)(unsigned char)text[i] - '0';

		if (d > 9 || __builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, d, &x))
			return false;
	}
	*v = x;
	return true;
}

bool csv_parse_i64(const struct csv_text *t, int64_t *v)
{
	bool neg = t->n && t->s[0] == '-';
	struct csv_text digits = {t->s + neg, t->n - neg};
	uint64_t u;

	if (!csv_parse_u64(&digits, &u) || u > (uint64_t)INT64_MAX + neg)
		return false;
	*v = neg ? (int64_t)(0 - u) : (int64_t)u;
	return true;
}

bool csv_parse_double(const struct csv_text *t, double *v)
{
	char buf[64], *end;

	if (!t->n || t->n >= sizeof(buf))
		return false;
	memcpy(buf, t->s, t->n);
	buf[t->n] = 0;
	*v = strtod(buf, &end);
	return *end == 0;
}

/* For numbers of at most this many characters, the integer of all digits is below EXACT_DIGITS. */
#define POINT_TEXT_MAX 15

/*
 * Parses digits with a point between or beside them, n characters. Returns false, with nothing changed, if the text
 * is not of this form, has less than 8 characters, or more than POINT_TEXT_MAX. *scale: number of digits after the point.
 */
static inline __attribute__((always_inline)) bool parse_point_digits(
	const char *p, size_t n, uint64_t *digits, unsigned *scale)
{
	const uint64_t points = UINT64_C(0x2e2e2e2e2e2e2e2e), zeros = UINT64_C(0x3030303030303030),
		       ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
	uint64_t high, low, hit, x, one, all = 0;

	if (n < 8 || n > POINT_TEXT_MAX)
		return false;
	memcpy(&high, p, 8);
	memcpy(&low, p + n - 8, 8);
	/* The text with zeros before it: 16 characters, the first eight in `high`. */
	high = le64toh(high) << 8 * (POINT_TEXT_MAX - n) << 8 | zeros >> 8 * (n - 8);
	low = le64toh(low);
	/* The lowest bit of `hit` is the top bit of the first point's byte. The characters before it replace the point. */
	x = high ^ points;
	hit = (x - ones) & ~x & tops;
	if (hit) {
		one = (hit & -hit) >> 7;
		high = (high & -(one << 8)) | (high & (one - 1)) << 8 | '0';
		*scale = POINT_TEXT_MAX - ((unsigned)__builtin_ctzll(hit) >> 3);
	} else {
		x = low ^ points;
		hit = (x - ones) & ~x & tops;
		if (!hit)
			return false;
		one = (hit & -hit) >> 7;
		low = (low & -(one << 8)) | (low & (one - 1)) << 8 | high >> 56;
		high = high << 8 | '0';
		*scale = 7 - ((unsigned)__builtin_ctzll(hit) >> 3);
	}
	if (!csv_add_digit_word(high, &all) || !csv_add_digit_word(low, &all))
		return false;
	*digits = all;
	return true;
}

static bool parse_slow_double(const struct csv_text *t, double *v, uint64_t *digits)
{
	*digits = 0;
	return csv_parse_double(t, v);
}

static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Returns digits / 10^scale; scale: -22 to 22. */
static double compute_scaled_digits(uint64_t digits, int scale)
{
	static const long double ten_more[] = {1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L,
		1e9L, 1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
		1e21L, 1e22L};
	long double more;

	if (__builtin_expect(digits < EXACT_DIGITS, 1))
		return scale > 0 ? (double)digits / tens[scale] : (double)digits * tens[-scale];
	/*
	 * The 64 bits of a long double are enough: 17 digits of a double are so close to it that
	 * rounding twice is harmless.
	 */
	more = (long double)digits;
	return (double)(scale > 0 ? more / ten_more[scale] : more * ten_more[-scale]);
}

/* Parses an exponent. Returns the end of its digits; p if it has none. */
static const char *parse_exponent(const char *p, const char *end, int *power)
{
	const char *digit = p + 1;
	bool down = digit < end && *digit == '-';
	int n = 0;

	digit += digit < end && (*digit == '-' || *digit == '+');
	if (digit == end)
		return p;
	for (p = digit; p < end && *p >= '0' && *p <= '9' && n < 1000; p++)
		n = n * 10 + *p - '0';
	*power = down ? -n : n;
	return p;
}

/* A number that is not a few digits with a point. */
static __attribute__((noinline)) bool parse_other_double(
	const struct csv_text *t, double *v, uint64_t *digits)
{
	const char *p = t->s, *end = p + t->n;
	uint64_t all = 0;
	int scale = 0, n = 0, power = 0;
	unsigned after;
	bool minus = t->n && *p == '-';

	p += minus;
	if (end - p > 4 && end[-4] == 'e' &&
		parse_point_digits(p, (size_t)(end - p) - 4, &all, &after)) {
		p = end - 4;
		scale = (int)after;
	} else {
		for (; p < end && (unsigned char)(*p - '0') <= 9; p++, n++)
			all = all * 10 + (uint64_t)(*p - '0');
		if (p < end && *p == '.') {
			const char *point = p++;

			for (; p < end && (unsigned char)(*p - '0') <= 9; p++)
				all = all * 10 + (uint64_t)(*p - '0');
			scale = (int)(p - point) - 1;
			n += scale;
		}
		/* More digits could overflow `all`. */
		if (n > 18 || !n)
			return parse_slow_double(t, v, digits);
	}
	if (p < end && *p == 'e')
		p = parse_exponent(p, end, &power);
	scale -= power;
	if (p < end || scale > 22 || scale < -22)
		return parse_slow_double(t, v, digits);
	*v = compute_scaled_digits(all, scale);
	if (minus)
		*v = -*v;
	*digits = all;
	return true;
}

bool csv_parse_double_digits(const struct csv_text *t, double *v, uint64_t *digits)
{
	bool minus = t->n && *t->s == '-';
	unsigned scale;
	double x;

	if (__builtin_expect(!parse_point_digits(t->s + minus, t->n - minus, digits, &scale), 0))
		return parse_other_double(t, v, digits);
	/* Both operands are exact, so that the result is the nearest double. */
	x = (double)(int64_t)*digits / tens[scale];
	*v = minus ? -x : x;
	return true;
}

bool csv_parse_double_fast(const struct csv_text *t, double *v)
{
	uint64_t digits;

	return csv_parse_double_digits(t, v, &digits);
}
