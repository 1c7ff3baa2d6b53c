/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/calls_csv.h"

#include <string.h>

#include "terms/redop.h"
#include "text/write.h"

/* Bytes that a cell cannot hold as they are, in any place or at its beginning. */
static const bool special[256] = {['"'] = true,
	[','] = true,
	['\r'] = true,
	['\n'] = true,
	['\\'] = true,
	[0x80 ... 0xff] = true};

/* Spreadsheets take a cell of those bytes of s, at most max, for a formula. */
static bool begins_like_formula(const char *s, size_t max)
{
	for (; max && *s == '\''; max--)
		s++;
	return max && (*s == '=' || *s == '+' || *s == '-' || *s == '@');
}

/* At most max bytes of s, in at most `most` bytes; whole characters. */
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

/* Bytes of s, at most max, if it stands in a cell as it is; else SIZE_MAX. */
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
 * No function below looks for room: ROW_MAX bytes are there, WRITE_SLACK behind the longest row included.
 */

/* csv_field_max() */
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

/* A column of struct row_api: as it was made, or as it stands. */
static inline char *put_api_field(char *p, const char *s, const char *ready, unsigned bytes)
{
	if (__builtin_expect(!ready, 0))
		return put_field(p, s, ROW_STRING_MAX);
	memcpy(p, ready, ROW_READY_STEP);
	if (bytes > ROW_READY_STEP)
		memcpy(p + ROW_READY_STEP, ready + ROW_READY_STEP, bytes - ROW_READY_STEP);
	return p + bytes;
}

static inline char *put_real_number(char *p, double v, int digits)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits ? write_double(p, v, digits) : write_char(p, '0');
}

static inline char *put_stats_value(char *p, const struct dtype_info *d, union stats_value v)
{
	if (d->cls == DTC_SIGNED)
		return write_i64(p, v.i);
	if (d->cls == DTC_UNSIGNED)
		return write_u64(p, v.u);
	return put_real_number(p, v.f, d->wide ? 17 : 9);
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

/* What a row has of the call, of its completion and of its tensor. */
struct row_values {
	int64_t micro_step, comm_seq, dur_ns, wait_ns, dev_ns, issue_ns; /* JOURNAL_NONE64: empty */
	int32_t peer, tag; /* JOURNAL_NONE: empty */
	uint32_t flags;
	int32_t error; /* with CF_ERROR */
	int64_t node; /* with CF_NODE */
	const struct journal_tensor *awaited; /* by an open call; NULL: nothing, or not known */
};

/* 7, or 7-9 */
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

/* Ticks of waiting; 0: none, or not known. */
static int64_t row_wait_ns(const struct clock_base *clock, uint64_t wait)
{
	if (!wait)
		return JOURNAL_NONE64;
	return wait == JOURNAL_NO_WAIT ? 0 : (int64_t)clock_to_dur(clock, wait);
}

static int64_t row_dur_ns(const struct clock_base *clock, uint64_t start, uint64_t end)
{
	return end > start ? (int64_t)clock_to_dur(clock, end - start) : 0;
}

static struct row_values settle_row(const struct clock_base *clock, const struct journal_call *c,
	const struct journal_end *end, const struct journal_tensor *t, bool open)
{
	struct row_values v = {
		.micro_step = c->micro_step != UINT32_MAX ? c->micro_step : JOURNAL_NONE64,
		.comm_seq = end && end->comm_seq != JOURNAL_NONE64 ? end->comm_seq : c->comm_seq,
		.peer = end && end->peer != JOURNAL_NONE ? end->peer : c->peer,
		.tag = end && end->tag != JOURNAL_NONE ? end->tag : c->tag,
		.flags = c->flags | (end ? end->flags : 0),
		.error = end && end->flags & CF_ERROR ? end->error : c->error,
		.node = c->comm_seq,
		.wait_ns = row_wait_ns(clock, c->wait + (end ? end->wait : 0)),
		.dur_ns = open ? JOURNAL_NONE64
			       : row_dur_ns(clock, c->start, end ? end->end : c->end),
		.issue_ns = c->flags & CF_ASYNC && c->end ? row_dur_ns(clock, c->start, c->end)
							  : JOURNAL_NONE64,
		.dev_ns = end && end->device_ns ? (int64_t)end->device_ns : JOURNAL_NONE64,
		.awaited = open && !t ? journal_awaited(c) : NULL,
	};

	/* Killed between the number and its flag: it counts no calls of a communicator. */
	if (v.flags & CF_NODE || (open && !c->comm))
		v.comm_seq = JOURNAL_NONE64;
	/* Killed while it was being closed: what its end was going to be is not known. */
	if (open)
		v.flags = (v.flags & ~(uint32_t)CF_ERROR) | CF_OPEN;
	if (t) {
		v.comm_seq = t->comm_seq != JOURNAL_NONE64 ? t->comm_seq : v.comm_seq;
		v.peer = t->peer != JOURNAL_NONE ? t->peer : v.peer;
		v.tag = t->tag != JOURNAL_NONE ? t->tag : v.tag;
		v.flags |= t->flags & TF_NOSTATS ? CF_NOSTATS : 0;
	}
	return v;
}

/* As column.h has them for a text, at p. */
#undef PUT_WHOLE
#undef PUT_NONZERO
#undef PUT_INTEGER
#undef PUT_NUMBER
#undef PUT_NUMBER32
#undef PUT_RANK
#undef PUT_ID
#undef PUT_WORD
#define PUT_WHOLE(v) p = write_u64(p, v)
#define PUT_NONZERO(v) p = (v) ? write_u64(p, v) : p
#define PUT_NUMBER(v) p = (v) != JOURNAL_NONE64 ? write_i64(p, v) : p
#define PUT_NUMBER32(v) p = (v) != JOURNAL_NONE ? write_i64(p, v) : p
#define PUT_RANK(v) p = (v) >= 0 ? write_i64(p, v) : p
#define PUT_ID(v) p = (v) ? write_hex_16(p, v) : p
#define PUT_WORD(s) p = write_word(p, s)
#define PUT_API(field)     \
	p = put_api_field( \
		p, api->field, ready ? ready->field : NULL, ready ? ready->field##_bytes : 0)
#define PUT_NAME(s) p = s[0] ? put_api_field(p, s, NULL, 0) : p
#define PUT_SHAPE(t) p = put_shape(p, t)
#define PUT_CHECKSUM(t) p = (t)->flags & TF_CRC ? write_hex_8(p, (t)->crc) : p
#define PUT_FLAGS(v) p = put_flags(p, &(v))
#define PUT_VALUE(v) p = put_stats_value(p, d, v)
#define PUT_REAL(v) p = put_real_number(p, v, d->wide ? 17 : 9)
#define PUT_SHARE(v) p = put_real_number(p, v, 9)

/*
 * Columns of tensors that were appended to the call's: behind crc32, which are in no row of those that have most in common.
 * From the first of them on a row has no columns of its call, or no row is made of another one.
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

/* Where a row lies, and what lies in it of its tensor: from column `io` on, until `start_ns`, and from `appended` on. */
struct row_marks {
	const char *row, *tensor, *behind, *appended, *end;
};

#define NOTE_MARK(column)                   \
	if (COL_##column == COL_io)         \
		m->tensor = p;              \
	if (COL_##column == COL_start_ns)   \
		m->behind = p;              \
	if (COL_##column == FIRST_APPENDED) \
		m->appended = p;

static char *put_row_columns(char *p, const struct clock_base *clock, const struct row_api *api,
	const struct ready_api *ready, const struct journal_call *c, const struct journal_end *end,
	const struct journal_tensor *t, bool open, const char *name, struct row_marks *m)
{
	const struct row_values v = settle_row(clock, c, end, t, open);
	const struct dtype_info *d = t ? dtype_info(t->dtype) : NULL;
	const struct stats *s = t && t->stats.n ? &t->stats : NULL;

	m->row = p;
#define CALL_COLUMN(column, type, source, help) \
	NOTE_MARK(column)                       \
	PUT_##type(source);                     \
	p = write_char(p, ',');
#define TENSOR_COLUMN(column, type, source, help) \
	NOTE_MARK(column)                         \
	if (t)                                    \
		PUT_##type(source);               \
	p = write_char(p, ',');
#define STATS_COLUMN(column, type, source, help) \
	NOTE_MARK(column)                        \
	if (s)                                   \
		PUT_##type(source);              \
	p = write_char(p, ',');
#include "journal/columns.def"
	/* The last field has its comma, too. */
	p[-1] = '\n';
	m->end = p;
	if (FIRST_APPENDED == COLUMNS)
		m->appended = p;
	return p;
}

/* Two tensors of a call of which all columns are the same but those that are marked. */
static bool is_row_alike(const struct journal_tensor *a, const struct journal_tensor *b)
{
	return ROWS_SHARE && a->comm_seq == b->comm_seq && a->peer == b->peer && a->tag == b->tag &&
	       !((a->flags ^ b->flags) & TF_NOSTATS) && !((a->flags | b->flags) & TF_CRC);
}

/* The next row of the same call, made of the one at *m. */
static char *put_row_alike(char *p, const struct journal_tensor *t, struct row_marks *m)
{
	const struct dtype_info *d = dtype_info(t->dtype);
	const struct stats *s = t->stats.n ? &t->stats : NULL;
	const char *row = p, *name = "";

	p = write_bytes(p, m->row, (size_t)(m->tensor - m->row));
	m->row = row;
	m->tensor = p;
#define IN_MARKS(column) (COL_##column >= COL_io && COL_##column < COL_start_ns)
#define IS_APPENDED(column) (COL_##column >= FIRST_APPENDED)
#define TENSOR_COLUMN(column, type, source, help) \
	if (IN_MARKS(column)) {                   \
		PUT_##type(source);               \
		p = write_char(p, ',');           \
	}
#define STATS_COLUMN(column, type, source, help) \
	if (IN_MARKS(column)) {                  \
		if (s)                           \
			PUT_##type(source);      \
		p = write_char(p, ',');          \
	}
#include "journal/columns.def"
	row = m->behind;
	m->behind = p;
	p = write_bytes(p, row, (size_t)(m->appended - row));
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

size_t rows_format(char *at, const struct record *r, const struct ready_api *ready)
{
	struct row_marks m;
	char *p = at;

	if (!r->n)
		p = put_row_columns(
			p, r->clock, &r->api, ready, r->call, r->end, NULL, r->open, "", &m);
	for (unsigned i = 0; i < r->n; i++) {
		const struct journal_tensor *t = r->tensor[i];

		if (i && !*r->name[i] && !*r->name[i - 1] && is_row_alike(r->tensor[i - 1], t))
			p = put_row_alike(p, t, &m);
		else
			p = put_row_columns(p, r->clock, &r->api, ready, r->call, r->end, t,
				r->open, r->name[i], &m);
	}
	return (size_t)(p - at);
}
