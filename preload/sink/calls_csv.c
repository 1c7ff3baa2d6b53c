/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/calls_csv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sink/row_values.h"
#include "terms/redop.h"
#include "journal/columns.h"
#include "text/write.h"

/* Bytes because of which a cell must be quoted, anywhere or at its beginning. */
static const bool special[256] = {['"'] = true,
	[','] = true,
	['\r'] = true,
	['\n'] = true,
	['\\'] = true,
	[0x80 ... 0xff] = true};

/* True if spreadsheets take a cell with the first max bytes of s for a formula. */
static bool begins_like_formula(const char *s, size_t max)
{
	for (; max && *s == '\''; max--)
		s++;
	return max && (*s == '=' || *s == '+' || *s == '-' || *s == '@');
}

/* Writes whole characters of s, at most max bytes of it, in at most `most` bytes. */
static void put_text_cell(struct text *out, const char *s, size_t max, size_t most)
{
	size_t first = strcspn(s, ",\"\r\n");
	bool quoted = s[first] && first < max, marked = begins_like_formula(s, max);

	if (quoted)
		text_char(out, '"');
	if (marked)
		text_char(out, '\'');
	most -= marked;
	while (max && *s) {
		char c[5];
		size_t n = (size_t)text_escape(s, c), bytes = strlen(c) + (*s == '"');

		if (n > max || bytes > most)
			break;
		if (*s == '"')
			text_char(out, '"');
		text_str(out, c);
		s += n;
		max -= n;
		most -= bytes;
	}
	if (quoted)
		text_char(out, '"');
}

/*
 * Returns the number of bytes of s, at most max, if a cell with them needs no quotes; else
 * SIZE_MAX.
 */
static size_t plain_length(const char *s, size_t max)
{
	size_t n = 0;

	if (begins_like_formula(s, max))
		return SIZE_MAX;
	while (n < max && s[n] && !special[(unsigned char)s[n]])
		n++;
	return n == max || !s[n] ? n : SIZE_MAX;
}

void csv_field_max(struct text *out, const char *s, size_t max)
{
	size_t n = plain_length(s, max);

	if (n != SIZE_MAX)
		text_put(out, s, n);
	else
		put_text_cell(out, s, max, 2 * max);
}

void csv_field(struct text *out, const char *s)
{
	put_text_cell(out, s, SIZE_MAX, SIZE_MAX);
}

void csv_end(struct text *out)
{
	out->len--;
	text_char(out, '\n');
}

/*
 * ---- the row ----
 *
 * No function below checks for space: ROW_MAX bytes are available, with WRITE_SLACK after the
 * longest row.
 */

/* csv_field_max() at p. */
static char *put_field(char *p, const char *s, size_t max)
{
	char *at = p;
	size_t n = 0;

	for (; n < max && s[n] && !special[(unsigned char)s[n]]; n++)
		*at++ = s[n];
	if (n < max && !s[n] && !begins_like_formula(s, n))
		return at;

	struct text t = text_over(p, 2 * max + 3);

	csv_field_max(&t, s, max);
	return p + t.len;
}

static inline char *put_real_number(char *p, double v, bool wide)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	if (!bits)
		return write_char(p, '0');
	return __builtin_expect(wide, 0) ? write_double(p, v, 17) : write_double_9(p, v);
}

/* True for nearly all tensors: min and max are not integers, and nine digits are enough. */
static inline bool has_nine_digits(const struct dtype_info *d)
{
	return d->cls == DTC_FLOAT && !d->wide;
}

static inline char *put_stats_value(char *p, const struct dtype_info *d, union stats_value v)
{
	if (d->cls == DTC_SIGNED)
		return write_i64(p, v.i);
	if (d->cls == DTC_UNSIGNED)
		return write_u64(p, v.u);
	return put_real_number(p, v.f, d->wide);
}

static char *put_shape(char *p, const struct journal_tensor *t)
{
	const uint64_t *dim = (const uint64_t *)(t + 1);

	if (t->ndim == 0)
		return write_char(p, '-');
	for (unsigned i = 0; t->ndim <= ROW_DIMS_MAX && i < t->ndim; i++) {
		if (i)
			p = write_char(p, 'x');
		p = write_u64(p, dim[i]);
	}
	return p;
}

/* Writes node numbers: 7, or 7-9. */
static char *put_nodes(char *p, int64_t node)
{
	p = write_u64(p, JOURNAL_NODE_FIRST(node));
	if (JOURNAL_NODE_MORE(node))
		p = write_u64(
			write_char(p, '-'), JOURNAL_NODE_FIRST(node) + JOURNAL_NODE_MORE(node));
	return p;
}

static char *put_flags(char *p, const struct row_values *v)
{
	const uint32_t known = (uint32_t)((UINT64_C(1) << CALL_FLAGS) - 1);

	for (uint32_t left = v->flags & known; left; left &= left - 1) {
		unsigned bit = (unsigned)__builtin_ctz(left);

		if (left != (v->flags & known))
			p = write_char(p, ';');
		p = write_word(p, call_flag_words[bit].word);
		if (bit == CF_BIT_ERROR)
			p = write_i64(write_char(p, ':'), v->error);
		else if (bit == CF_BIT_NODE)
			p = put_nodes(write_char(p, ':'), v->node);
	}
	return p;
}

/* The text columns of column.h, for functions that write at p. */
#undef PUT_WHOLE
#undef PUT_NONZERO
#undef PUT_INTEGER
#undef PUT_NUMBER
#undef PUT_NUMBER32
#undef PUT_RANK
#undef PUT_ID
#undef PUT_WORD
#define PUT_WHOLE(v) p = write_u64(p, v)
#define PUT_STEP(v) p = put_step(p, memory, v)
#define PUT_SEQ(v) p = put_seq(p, memory, v)
#define PUT_COMM_SEQ(v) p = put_comm_seq(p, memory, v)
#define PUT_TIME(v) p = put_time(p, memory, v)
#define PUT_NONZERO(v) p = (v) ? write_u64(p, v) : p
#define PUT_NUMBER(v) p = (v) != JOURNAL_NONE64 ? write_i64(p, v) : p
#define PUT_NUMBER32(v) p = (v) != JOURNAL_NONE ? write_i64(p, v) : p
#define PUT_RANK(v) p = (v) >= 0 ? write_i64(p, v) : p
#define PUT_ID(v) p = (v) ? write_hex_16(p, v) : p
#define PUT_WORD(s) p = write_word(p, s)
#define PUT_API(field) p = put_field(p, api->field, ROW_STRING_MAX)
#define PUT_NAME(s) p = s[0] ? put_field(p, s, ROW_STRING_MAX) : p
#define PUT_SHAPE(t) p = put_shape(p, t)
#define PUT_CHECKSUM(t) p = (t)->flags & TF_CRC ? write_hex_8(p, (t)->crc) : p
#define PUT_FLAGS(v) p = put_flags(p, &(v))
#define PUT_VALUE(v) p = nine ? put_real_number(p, (v).f, false) : put_stats_value(p, d, v)
#define PUT_REAL(v) p = put_real_number(p, v, !nine && d->wide)
#define PUT_SHARE(v) p = s->zeros ? put_real_number(p, v, false) : write_char(p, '0')

/*
 * Columns of tensors that were appended after those of the call (after crc32), so that copying
 * the previous row of the call does not cover them. They must come after all appended columns of
 * calls; otherwise rows are not copied (ROWS_SHARE).
 */
static const uint64_t appended_of_tensor = 0
#define APPENDED_BIT(column) | (COL_##column > COL_crc32 ? UINT64_C(1) << COL_##column : 0)
#define TENSOR_COLUMN(column, type, source, help) APPENDED_BIT(column)
#define STATS_COLUMN(column, type, source, help) APPENDED_BIT(column)
#include "journal/columns.def"
	;
static const uint64_t appended_of_call = 0
#define CALL_COLUMN(column, type, source, help) APPENDED_BIT(column)
#include "journal/columns.def"
	;
#define FIRST_APPENDED (appended_of_tensor ? __builtin_ctzll(appended_of_tensor) : COLUMNS)
#define ROWS_SHARE (FIRST_APPENDED == COLUMNS || !(appended_of_call >> FIRST_APPENDED))
_Static_assert(COLUMNS < 64, "a bit for each column");

/* ---- text that is made once ---- */

/*
 * Groups of adjacent columns whose text is cached: function and communicator; thread; the call's state; and the tensor.
 * From column `first` to column `last`.
 */
enum row_part {
	PART_API,
	PART_COMM,
	PART_THREAD,
	PART_STATE,
	SITE_PARTS,
	PART_TENSOR = SITE_PARTS,
	ROW_PARTS
};

#define PART_OF(column)                                                                \
	(COL_##column >= COL_lib && COL_##column <= COL_comm		 ? PART_API    \
		: COL_##column >= COL_rank && COL_##column <= COL_root	 ? PART_COMM   \
		: COL_##column == COL_thread				 ? PART_THREAD \
		: COL_##column >= COL_flags && COL_##column <= COL_phase ? PART_STATE  \
		: COL_##column >= COL_io && COL_##column <= COL_bytes	 ? PART_TENSOR \
									 : ROW_PARTS)
#define BEGINS_PART(column)                                                                   \
	(COL_##column == COL_lib || COL_##column == COL_rank || COL_##column == COL_thread || \
		COL_##column == COL_flags || COL_##column == COL_io)
#define ENDS_PART(column)                                                                      \
	(COL_##column == COL_comm || COL_##column == COL_root || COL_##column == COL_thread || \
		COL_##column == COL_phase || COL_##column == COL_bytes)

#define COPY_STEP 32 /* bytes; a copy may read and write up to this many additional bytes */
#define COPY_NUMBER 16
#define SITES 512u
#define SITE_TEXT 192
#define SITE_WORDS 4
#define SHAPES 256u
#define SHAPE_TEXT 80
#define SHAPE_DIMS 4
#define SHAPE_WORDS (3 + SHAPE_DIMS)

/* Cached text of calls whose rows have the same first SITE_PARTS parts. */
struct row_site {
	uint64_t key[SITE_WORDS];
	uint8_t begin[SITE_PARTS], bytes[SITE_PARTS]; /* bytes[PART_API] 0: the entry is not used */
	char text[SITE_TEXT + COPY_STEP];
};

struct row_shape {
	uint64_t key[SHAPE_WORDS];
	uint8_t bytes; /* 0: the entry is not used */
	char text[SHAPE_TEXT + COPY_STEP];
};

/* The last number written in a column, with its comma; bytes 0: none yet. */
struct row_number {
	uint64_t value;
	unsigned bytes;
	char text[24];
};

struct row_memory {
	struct row_number step, seq, comm_seq;
	uint64_t tenths; /* start_ns in tenths of a second: all digits except the last eight */
	char tenths_text[COPY_NUMBER];
	unsigned tenths_bytes;
	struct row_site site[SITES];
	struct row_shape shape[SHAPES];
};

struct row_memory *row_memory_new(void)
{
	return calloc(1, sizeof(struct row_memory));
}

void row_memory_free(struct row_memory *memory)
{
	free(memory);
}

/* Copies n bytes in whole steps of COPY_STEP; both buffers have space for that. */
static inline char *copy_steps(char *p, const char *from, size_t n)
{
	size_t i = 0;

	do {
		memcpy(p + i, from + i, COPY_STEP);
		i += COPY_STEP;
	} while (i < n);
	return p + n;
}

static inline bool has_key_3(const uint64_t *a, const uint64_t *b)
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]));
}

static inline bool has_key(const uint64_t *a, const uint64_t *b, unsigned n)
{
	uint64_t other = 0;

	for (unsigned i = 0; i < n; i++)
		other |= a[i] ^ b[i];
	return !other;
}

/*
 * Returns the cache entry for a call's row; *known: it already has the text. Returns NULL if the
 * text is not cached.
 */
static inline struct row_site *find_row_site(struct row_memory *memory, const struct row_api *api,
	const struct journal_call *c, const struct row_values *v, uint64_t key[SITE_WORDS],
	bool *known)
{
	struct row_site *s;
	uint64_t h;

	*known = false;
	/*
	 * Such calls have numbers of their own. A function that the dictionary lacks may be in it
	 * next time.
	 */
	if (!memory || v->flags & (CF_ERROR | CF_NODE) || c->parent || !api->lib[0])
		return NULL;
	_Static_assert(
		offsetof(struct journal_call, phase) == offsetof(struct journal_call, tid) + 7 &&
			offsetof(struct journal_call, comm_size) ==
				offsetof(struct journal_call, comm_rank) + 4,
		"words of the key");
	key[0] = c->comm;
	memcpy(&key[1], &c->comm_rank, 8);
	memcpy(&key[2], &c->tid, 8); /* tid, api, redop, phase */
	key[3] = (uint32_t)c->root | (uint64_t)v->flags << 32;
	h = (key[0] ^ key[2] ^ key[3] << 7) * UINT64_C(0x9e3779b97f4a7c15);
	s = &memory->site[h >> 32 & (SITES - 1)];
	*known = s->bytes[PART_API] && has_key_3(s->key, key) && s->key[3] == key[3];
	return s;
}

/* Like find_row_site(), for a tensor. */
static inline struct row_shape *find_row_shape(struct row_memory *memory,
	const struct journal_tensor *t, uint64_t key[SHAPE_WORDS], bool *known)
{
	unsigned dims = t->ndim == JOURNAL_NDIM_NONE ? 0 : t->ndim;
	struct row_shape *s;
	uint64_t h;

	*known = false;
	if (!memory || dims > SHAPE_DIMS)
		return NULL;
	key[0] = t->count;
	key[1] = t->bytes;
	key[2] = t->index | (uint64_t)t->dtype << 16 | (uint64_t)t->io << 24 |
		 (uint64_t)t->ndim << 32;
	h = key[0] ^ key[1] << 20 ^ key[2];
	for (unsigned i = 0; __builtin_expect(i < dims, 0); i++) {
		key[3 + i] = ((const uint64_t *)(t + 1))[i];
		h = h * 31 + key[3 + i];
	}
	s = &memory->shape[h * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (SHAPES - 1)];
	*known =
		s->bytes && has_key_3(s->key, key) && (!dims || has_key(s->key + 3, key + 3, dims));
	return s;
}

/*
 * Positions in a written row: its parts, and its tensor columns, which are those from `io` up to
 * `start_ns`, and from `appended` on.
 */
struct row_marks {
	const char *row, *tensor, *after, *appended, *end;
	const char *begin[ROW_PARTS], *part_end[ROW_PARTS];
};

static void keep_site(struct row_site *s, const uint64_t key[SITE_WORDS], const struct row_marks *m)
{
	size_t used = 0;

	s->bytes[PART_API] = 0;
	for (unsigned i = 0; i < SITE_PARTS; i++)
		used += (size_t)(m->part_end[i] - m->begin[i]);
	if (used > SITE_TEXT)
		return;
	memcpy(s->key, key, sizeof(s->key));
	used = 0;
	for (unsigned i = 0; i < SITE_PARTS; i++) {
		size_t n = (size_t)(m->part_end[i] - m->begin[i]);

		s->begin[i] = (uint8_t)used;
		s->bytes[i] = (uint8_t)n;
		memcpy(s->text + used, m->begin[i], n);
		used += n;
	}
}

static void keep_shape(
	struct row_shape *s, const uint64_t key[SHAPE_WORDS], const struct row_marks *m)
{
	size_t n = (size_t)(m->part_end[PART_TENSOR] - m->begin[PART_TENSOR]);

	s->bytes = 0;
	if (n > SHAPE_TEXT)
		return;
	memcpy(s->key, key, 3 * sizeof(*key));
	if (key[2] >> 32 != JOURNAL_NDIM_NONE)
		memcpy(s->key + 3, key + 3, (key[2] >> 32) * sizeof(*key));
	memcpy(s->text, m->begin[PART_TENSOR], n);
	s->bytes = (uint8_t)n;
}

static inline char *keep_row_number(char *p, struct row_number *last, uint64_t v)
{
	char *end = write_u64(p, v);

	last->bytes = 0;
	if (end - p <= COPY_NUMBER) {
		last->value = v;
		last->bytes = (unsigned)(end - p);
		memcpy(last->text, p, COPY_NUMBER);
	}
	return end;
}

/* Writes a number that is the same in most rows. */
static inline char *put_step(char *p, struct row_memory *memory, uint64_t v)
{
	if (!memory)
		return write_u64(p, v);
	if (__builtin_expect(!memory->step.bytes || memory->step.value != v, 0))
		return keep_row_number(p, &memory->step, v);
	memcpy(p, memory->step.text, COPY_NUMBER);
	return p + memory->step.bytes;
}

/*
 * Writes a number that is usually 1 more than the last one: in nine of ten cases only the last
 * digit changes.
 */
static inline char *put_growing(char *p, struct row_number *last, uint64_t v)
{
	char *digit = &last->text[last->bytes - 1];

	if (!last->bytes || v != last->value + 1 || *digit == '9')
		return keep_row_number(p, last, v);
	last->value = v;
	++*digit;
	memcpy(p, last->text, COPY_NUMBER);
	return p + last->bytes;
}

static inline char *put_seq(char *p, struct row_memory *memory, uint64_t v)
{
	return memory ? put_growing(p, &memory->seq, v) : write_u64(p, v);
}

static inline char *put_comm_seq(char *p, struct row_memory *memory, int64_t v)
{
	if (v == JOURNAL_NONE64)
		return p;
	return memory && v >= 0 ? put_growing(p, &memory->comm_seq, (uint64_t)v) : write_i64(p, v);
}

/* Writes a time: usually all digits except the last eight are those of the previous row. */
static char *put_time(char *p, struct row_memory *memory, uint64_t v)
{
	const uint64_t e8 = 100000000;
	uint64_t rest;

	if (!memory)
		return write_u64(p, v);
	rest = v - memory->tenths * e8;
	if (__builtin_expect(!memory->tenths_bytes || rest >= e8, 0)) {
		char text[24 + WRITE_SLACK], *end = write_u64(text, v / e8);

		if (v < e8)
			return write_u64(p, v);
		memory->tenths = v / e8;
		memory->tenths_bytes = (unsigned)(end - text);
		memcpy(memory->tenths_text, text, COPY_NUMBER);
		rest = v % e8;
	}
	memcpy(p, memory->tenths_text, COPY_NUMBER);
	return write_digits_8(p + memory->tenths_bytes, (uint32_t)rest);
}

#define NOTE_MARK(column)                             \
	if (COL_##column == COL_io)                   \
		m->tensor = p;                        \
	if (COL_##column == COL_start_ns)             \
		m->after = p;                         \
	if (COL_##column == FIRST_APPENDED)           \
		m->appended = p;                      \
	if (BEGINS_PART(column) && !HAS_TEXT(column)) \
		m->begin[PART_OF(column)] = p;

#define NOTE_END(column)                            \
	if (ENDS_PART(column) && !HAS_TEXT(column)) \
		m->part_end[PART_OF(column)] = p;

/* True if the text of this part is cached. */
#define HAS_TEXT(column) \
	(PART_OF(column) < SITE_PARTS ? site_known : PART_OF(column) == PART_TENSOR && shape_known)

#define COPY_PART(column)                                                                         \
	if (BEGINS_PART(column) && HAS_TEXT(column)) {                                            \
		if (PART_OF(column) == PART_TENSOR)                                               \
			p = copy_steps(p, shape->text, shape->bytes);                             \
		else                                                                              \
			p = copy_steps(p, site->text + site->begin[PART_OF(column) % SITE_PARTS], \
				site->bytes[PART_OF(column) % SITE_PARTS]);                       \
	}

/*
 * Inlined where values and cached parts are known, so that the compiler knows which columns are
 * empty or copied.
 */
static inline __attribute__((always_inline)) char *put_columns(char *p, const struct record *r,
	const struct journal_tensor *t, const char *name, const struct row_values *values,
	struct row_memory *memory, struct row_marks *m, const struct row_site *site,
	bool site_known, const struct row_shape *shape, bool shape_known)
{
	const struct clock_base *clock = r->clock;
	const struct row_api *api = &r->api;
	const struct journal_call *c = r->call;
	const struct row_values v = *values;
	const struct dtype_info *d = t ? dtype_info(t->dtype) : NULL;
	const struct stats *s = t && t->stats.n ? &t->stats : NULL;
	const bool nine = s && has_nine_digits(d);

	m->row = p;
#define CALL_COLUMN(column, type, source, help) \
	NOTE_MARK(column)                       \
	COPY_PART(column)                       \
	if (!HAS_TEXT(column)) {                \
		PUT_##type(source);             \
		p = write_char(p, ',');         \
	}                                       \
	NOTE_END(column)
#define TENSOR_COLUMN(column, type, source, help) \
	NOTE_MARK(column)                         \
	COPY_PART(column)                         \
	if (!HAS_TEXT(column)) {                  \
		if (t)                            \
			PUT_##type(source);       \
		p = write_char(p, ',');           \
	}                                         \
	NOTE_END(column)
#define STATS_COLUMN(column, type, source, help) \
	NOTE_MARK(column)                        \
	if (s)                                   \
		PUT_##type(source);              \
	p = write_char(p, ',');
#include "journal/columns.def"
	/* The last field has a comma too. */
	p[-1] = '\n';
	m->end = p;
	if (FIRST_APPENDED == COLUMNS)
		m->appended = p;
	return p;
}

static char *put_row_columns(char *p, const struct record *r, const struct journal_tensor *t,
	const char *name, struct row_memory *memory, struct row_marks *m)
{
	const struct row_values v = settle_row(r->clock, r->call, r->end, t, r->open);
	uint64_t site_key[SITE_WORDS], shape_key[SHAPE_WORDS];
	bool site_known, shape_known = false;
	struct row_site *site = find_row_site(memory, &r->api, r->call, &v, site_key, &site_known);
	struct row_shape *shape = t ? find_row_shape(memory, t, shape_key, &shape_known) : NULL;

	p = put_columns(p, r, t, name, &v, memory, m, site, site_known, shape, shape_known);
	if (site && !site_known)
		keep_site(site, site_key, m);
	if (shape && !shape_known)
		keep_shape(shape, shape_key, m);
	return p;
}

/*
 * Writes a row like nearly all: is_plain_call(), is_plain_tensor(), with statistics, without a
 * name, and with cached text. Returns NULL if its text is not cached.
 */
static char *put_plain_row(char *p, const struct record *r, const struct journal_tensor *t,
	struct row_memory *memory, struct row_marks *m)
{
	const struct row_values v = settle_plain_row(r->clock, r->call, t);
	uint64_t site_key[SITE_WORDS], shape_key[SHAPE_WORDS];
	bool site_known, shape_known;
	const struct row_site *site;
	const struct row_shape *shape;

	if (!memory || !t->stats.n)
		return NULL;
	site = find_row_site(memory, &r->api, r->call, &v, site_key, &site_known);
	if (!site_known)
		return NULL;
	shape = find_row_shape(memory, t, shape_key, &shape_known);
	if (!shape_known)
		return NULL;
	return put_columns(p, r, t, "", &v, memory, m, site, true, shape, true);
}

/* True if two tensors of a call are equal in all columns except the marked ones. */
static bool is_row_alike(const struct journal_tensor *a, const struct journal_tensor *b)
{
	return ROWS_SHARE && a->comm_seq == b->comm_seq && a->peer == b->peer && a->tag == b->tag &&
	       !((a->flags ^ b->flags) & TF_NOSTATS) && !((a->flags | b->flags) & TF_CRC);
}

/* Writes the next row of the same call, by copying the one at *m. */
static char *put_row_alike(
	char *p, const struct journal_tensor *t, struct row_memory *memory, struct row_marks *m)
{
	const struct dtype_info *d = dtype_info(t->dtype);
	const struct stats *s = t->stats.n ? &t->stats : NULL;
	const bool nine = has_nine_digits(d);
	const char *row = p, *name = "";
	uint64_t shape_key[SHAPE_WORDS];
	bool site_known = false, shape_known;
	struct row_shape *shape = find_row_shape(memory, t, shape_key, &shape_known);

	p = copy_steps(p, m->row, (size_t)(m->tensor - m->row));
	m->row = row;
	m->tensor = p;
	if (shape_known)
		p = copy_steps(p, shape->text, shape->bytes);
#define IN_MARKS(column) (COL_##column >= COL_io && COL_##column < COL_start_ns)
#define IS_APPENDED(column) (COL_##column >= FIRST_APPENDED)
#define TENSOR_COLUMN(column, type, source, help)    \
	if (IN_MARKS(column) && !HAS_TEXT(column)) { \
		PUT_##type(source);                  \
		p = write_char(p, ',');              \
	}                                            \
	NOTE_END(column)
#define STATS_COLUMN(column, type, source, help) \
	if (IN_MARKS(column)) {                  \
		if (s)                           \
			PUT_##type(source);      \
		p = write_char(p, ',');          \
	}
#include "journal/columns.def"
	if (shape && !shape_known) {
		m->begin[PART_TENSOR] = m->tensor;
		keep_shape(shape, shape_key, m);
	}
	row = m->after;
	m->after = p;
	p = copy_steps(p, row, (size_t)(m->appended - row));
	m->appended = p;
#define TENSOR_COLUMN(column, type, source, help) \
	if (IS_APPENDED(column)) {                \
		PUT_##type(source);               \
		p = write_char(p, ',');           \
	}
#define STATS_COLUMN(column, type, source, help) \
	if (IS_APPENDED(column)) {               \
		if (s)                           \
			PUT_##type(source);      \
		p = write_char(p, ',');          \
	}
#include "journal/columns.def"
	p[-1] = '\n';
	m->end = p;
	return p;
}

size_t rows_format(char *at, const struct record *r, struct row_memory *memory)
{
	struct row_marks m;
	char *p = at;
	bool plain = is_plain_call(r->call, r->end, r->open);

	if (!r->n)
		p = put_row_columns(p, r, NULL, "", memory, &m);
	for (unsigned i = 0; i < r->n; i++) {
		const struct journal_tensor *t = r->tensor[i];
		char *end = NULL;

		if (i && !*r->name[i] && !*r->name[i - 1] && is_row_alike(r->tensor[i - 1], t))
			end = put_row_alike(p, t, memory, &m);
		else if (plain && !*r->name[i] && is_plain_tensor(t))
			end = put_plain_row(p, r, t, memory, &m);
		p = end ? end : put_row_columns(p, r, t, r->name[i], memory, &m);
	}
	return (size_t)(p - at);
}
