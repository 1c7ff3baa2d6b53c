/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/calls_csv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sink/call_site.h"
#include "sink/row_memory.h"
#include "sink/row_values.h"
#include "terms/redop.h"
#include "journal/columns.h"
#include "text/write.h"

/*
 * ---- the row ----
 *
 * No function below checks for space: ROW_MAX bytes are available, with WRITE_SLACK after the
 * longest row.
 */

static inline char *write_real_number(char *p, double v, bool wide)
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

static inline char *write_stats_value(char *p, const struct dtype_info *d, union stats_value v)
{
	if (d->cls == DTC_SIGNED)
		return write_i64(p, v.i);
	if (d->cls == DTC_UNSIGNED)
		return write_u64(p, v.u);
	return write_real_number(p, v.f, d->wide);
}

static char *write_shape(char *p, const struct journal_tensor *t)
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
static char *write_node_numbers(char *p, int64_t node)
{
	p = write_u64(p, JOURNAL_NODE_FIRST(node));
	if (JOURNAL_NODE_MORE(node))
		p = write_u64(
			write_char(p, '-'), JOURNAL_NODE_FIRST(node) + JOURNAL_NODE_MORE(node));
	return p;
}

static char *write_flags(char *p, const struct row_values *v)
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
			p = write_node_numbers(write_char(p, ':'), v->node);
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
#define PUT_NONZERO(v) p = (v) ? write_u64(p, v) : p
#define PUT_NUMBER(v) p = (v) != JOURNAL_NONE64 ? write_i64(p, v) : p
#define PUT_NUMBER32(v) p = (v) != JOURNAL_NONE ? write_i64(p, v) : p
#define PUT_RANK(v) p = (v) >= 0 ? write_i64(p, v) : p
#define PUT_ID(v) p = (v) ? write_hex_16(p, v) : p
#define PUT_WORD(s) p = write_word(p, s)
#define PUT_API(field) p = csv_write_field(p, api->field, ROW_STRING_MAX)
#define PUT_NAME(s) p = s[0] ? csv_write_field(p, s, ROW_STRING_MAX) : p
#define PUT_SHAPE(t) p = write_shape(p, t)
#define PUT_CHECKSUM(t) p = (t)->flags & TF_CRC ? write_hex_8(p, (t)->crc) : p
#define PUT_FLAGS(v) p = write_flags(p, &(v))
#define PUT_VALUE(v) p = write_stats_value(p, d, v)
#define PUT_REAL(v) p = write_real_number(p, v, d->wide)
#define PUT_SHARE(v) p = s->zeros ? write_real_number(p, v, false) : write_char(p, '0')

/* ---- columns, one by one ---- */

/*
 * Writes the columns from `first` to `last`, each with its comma. Inlined where these are known, so that the compiler
 * knows which columns there are.
 */
static inline __attribute__((always_inline)) char *write_columns(char *p, const struct record *r,
	const struct journal_tensor *t, const char *name, const struct row_values *values,
	int first, int last)
{
	const struct clock_base *clock = r->clock;
	const struct row_api *api = &r->api;
	const struct journal_call *c = r->call;
	const struct row_values v = *values;
	const struct dtype_info *d = t ? get_dtype_info(t->dtype) : NULL;
	const struct stats *s = t && t->stats.n ? &t->stats : NULL;

#define IS_ASKED(column) ((int)COL_##column >= first && (int)COL_##column <= last)
#define CALL_COLUMN(column, type, source, help) \
	if (IS_ASKED(column)) {                 \
		PUT_##type(source);             \
		p = write_char(p, ',');         \
	}
#define TENSOR_COLUMN(column, type, source, help) \
	if (IS_ASKED(column)) {                   \
		if (t)                            \
			PUT_##type(source);       \
		p = write_char(p, ',');           \
	}
#define STATS_COLUMN(column, type, source, help) \
	if (IS_ASKED(column)) {                  \
		if (s)                           \
			PUT_##type(source);      \
		p = write_char(p, ',');          \
	}
#include "journal/columns.def"
	return p;
}

static char *write_row_columns(
	char *p, const struct record *r, const struct journal_tensor *t, const char *name)
{
	const struct row_values v = compute_row(r->clock, r->call, r->end, t, r->open);

	p = write_columns(p, r, t, name, &v, 0, COLUMNS - 1);
	/* The last field has a comma too. */
	p[-1] = '\n';
	return p;
}

/* ---- text that is made once ---- */

/*
 * The row of a call, between the numbers that differ from call to call, is text that all calls of a site have in common.
 * It is made once, in pieces, and copied. What a piece is made of is in the key, or is written beside it: so nothing has
 * to be forgotten when a communicator ends, a parameter gets a name or a key is edited.
 */
_Static_assert(
	COL_micro_step == COL_step + 1 && COL_seq == COL_micro_step + 1 && COL_lib == COL_seq + 1 &&
		COL_comm_seq == COL_comm + 1 && COL_rank == COL_comm_seq + 1 &&
		COL_peer == COL_root + 1 && COL_io == COL_peer + 1 && COL_min == COL_bytes + 1 &&
		COL_start_ns == COL_infs + 1 && COL_dur_ns == COL_start_ns + 1 &&
		COL_thread == COL_dur_ns + 1 && COL_stack_id == COL_thread + 1 &&
		COL_flags == COL_stack_id + 1 && COL_parent == COL_flags + 1 &&
		COL_phase == COL_parent + 1 && COL_name == COL_phase + 1 && COL_tag == COL_name + 1,
	"the order in which write_known_row() writes");

struct row_memory *row_memory_new(void)
{
	return calloc(1, sizeof(struct row_memory));
}

void row_memory_free(struct row_memory *memory)
{
	free(memory);
}

static inline bool has_key_3(const uint64_t *a, const uint64_t *b)
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]));
}

static void add_row_piece(struct row_site *s, unsigned piece, const char *from, const char *end)
{
	unsigned begin = piece ? s->begin[piece - 1] + s->bytes[piece - 1] : 0;

	s->begin[piece] = (uint8_t)begin;
	s->bytes[piece] = (uint8_t)(end - from);
	memcpy(s->text + begin, from, (size_t)(end - from));
}

/* Formats the text of a site. Returns false if it is too long to be kept. */
static __attribute__((noinline)) bool init_row_site(
	struct row_site *s, const uint64_t *key, const struct record *r, uint32_t flags)
{
	const struct row_values values = {.flags = flags};
	char text[4 * ROW_STRING_MAX * 2 + 1024], *end[ROW_PIECES], *p = text;
	struct journal_call call = *r->call;
	struct record site = *r;

	/* The parent is no part of a site: its column is empty in the piece. */
	call.parent = 0;
	site.call = &call;
	s->bytes[PIECE_API] = 0;
	end[PIECE_API] = p = write_columns(p, &site, NULL, "", &values, COL_lib, COL_comm);
	end[PIECE_COMM] = p = write_columns(p, &site, NULL, "", &values, COL_rank, COL_root);
	end[PIECE_THREAD] = p = write_columns(p, &site, NULL, "", &values, COL_thread, COL_thread);
	end[PIECE_FLAGS] = p = write_columns(p, &site, NULL, "", &values, COL_flags, COL_flags);
	end[PIECE_PHASE] = p = write_columns(p, &site, NULL, "", &values, COL_parent, COL_phase);
	if (p - text > SITE_TEXT)
		return false;
	for (unsigned i = 0; i < ROW_PIECES; i++)
		add_row_piece(s, i, i ? end[i - 1] : text, end[i]);
	memcpy(s->key, key, sizeof(s->key));
	memset(s->shape, 0, sizeof(s->shape));
	s->tail_bytes = 0;
	return true;
}

/* Returns the site of a call with these flags. Returns NULL if the text of the site is too long to be kept. */
static inline struct row_site *find_row_site(
	struct row_memory *memory, const struct record *r, uint32_t flags)
{
	const struct journal_call *c = r->call;
	uint64_t key[SITE_WORDS], h;
	struct row_site *s;

	_Static_assert(
		offsetof(struct journal_call, phase) == offsetof(struct journal_call, tid) + 7 &&
			offsetof(struct journal_call, comm_size) ==
				offsetof(struct journal_call, comm_rank) + 4,
		"words of the key");
	/* A function that the dictionary lacks may be in it next time. */
	if (__builtin_expect(!r->api.lib[0], 0))
		return NULL;
	key[0] = c->comm;
	memcpy(&key[1], &c->comm_rank, 8);
	memcpy(&key[2], &c->tid, 8); /* tid, api, redop, phase */
	key[3] = (uint32_t)c->root | (uint64_t)flags << 32;
	h = (key[0] ^ key[2] ^ key[3] << 7) * UINT64_C(0x9e3779b97f4a7c15);
	s = &memory->site[h >> 32 & (SITES - 1)];
	if (__builtin_expect(
		    s->bytes[PIECE_API] && has_key_3(s->key, key) && s->key[3] == key[3], 1))
		return s;
	return init_row_site(s, key, r, flags) ? s : NULL;
}

static inline uint64_t compute_shape_word(const struct journal_tensor *t)
{
	return t->index | (uint64_t)t->dtype << 16 | (uint64_t)t->io << 24 |
	       (uint64_t)t->ndim << 32;
}

static inline bool is_row_shape(const struct row_shape *s, const struct journal_tensor *t)
{
	const uint64_t *dim = (const uint64_t *)(t + 1);
	uint64_t other = (s->key[0] ^ t->count) | (s->key[1] ^ t->bytes) |
			 (s->key[2] ^ compute_shape_word(t));

	if (other || !s->bytes)
		return false;
	for (unsigned i = 0; t->ndim != JOURNAL_NDIM_NONE && i < t->ndim; i++)
		other |= s->key[3 + i] ^ dim[i];
	return !other;
}

/* Writes the columns of a tensor from io to bytes, and keeps them as the site's expected ones. */
static __attribute__((noinline)) char *write_new_shape(char *p, const struct record *r,
	const struct journal_tensor *t, struct row_memory *memory, uint16_t *expected)
{
	static const struct row_values none;
	unsigned dims = t->ndim == JOURNAL_NDIM_NONE ? 0 : t->ndim;
	uint64_t key[SHAPE_WORDS] = {t->count, t->bytes, compute_shape_word(t)}, h;
	struct row_shape *s;
	char *end;

	if (dims > SHAPE_DIMS)
		return write_columns(p, r, t, "", &none, COL_io, COL_bytes);
	h = key[0] ^ key[1] << 20 ^ key[2];
	for (unsigned i = 0; i < dims; i++) {
		key[3 + i] = ((const uint64_t *)(t + 1))[i];
		h = h * 31 + key[3 + i];
	}
	h = h * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (SHAPES - 1);
	s = &memory->shape[h];
	*expected = (uint16_t)h;
	if (is_row_shape(s, t))
		return copy_steps(p, s->text, s->bytes);
	end = write_columns(p, r, t, "", &none, COL_io, COL_bytes);
	s->bytes = 0;
	if (end - p > SHAPE_TEXT)
		return end;
	memcpy(s->key, key, sizeof(key));
	memcpy(s->text, p, (size_t)(end - p));
	s->bytes = (uint8_t)(end - p);
	return end;
}

/* ---- a call's rows ---- */

static inline char *copy_row_piece(char *p, const struct row_site *s, enum row_piece piece)
{
	return copy_steps(p, s->text + s->begin[piece], s->bytes[piece]);
}

/* The columns from io to bytes. */
static inline char *write_tensor_columns(char *p, const struct record *r,
	const struct journal_tensor *t, struct row_memory *memory, uint16_t *expected)
{
	const struct row_shape *s = &memory->shape[*expected];

	if (__builtin_expect(!is_row_shape(s, t), 0))
		return write_new_shape(p, r, t, memory, expected);
	return copy_steps(p, s->text, s->bytes);
}

static inline char *write_nine_digits(
	char *p, const struct record *r, const struct journal_tensor *t)
{
	static const struct row_values none;
	const uint64_t counts = htole64(UINT64_C(0x2c302c302c30)); /* 0,0,0, */
	const struct stats *s = &t->stats;

	p = write_doubles_9(p, &s->min.f, 4);
	if (__builtin_expect(s->zeros | s->nans | s->infs, 0))
		return write_columns(p, r, t, "", &none, COL_zeros, COL_infs);
	memcpy(p, &counts, 8);
	return p + 6;
}

/* Like write_nine_digits(), and keeps the text for the next row. */
static __attribute__((noinline)) char *write_kept_statistics(
	char *p, const struct record *r, const struct journal_tensor *t, struct row_statistics *k)
{
	char *end = write_nine_digits(p, r, t);

	k->bytes = 0;
	if (end - p <= STATISTICS_TEXT) {
		k->of = t->stats;
		k->bytes = (uint8_t)(end - p);
		memcpy(k->text, p, (size_t)(end - p));
	}
	return end;
}

static inline bool has_same_statistics(const struct stats *a, const struct stats *b)
{
	const call_word *v = (const call_word *)a, *w = (const call_word *)b;
	call_word_pair other = get_pair_difference(v, w, 0) | get_pair_difference(v, w, 2) |
			       get_pair_difference(v, w, 4) | get_pair_difference(v, w, 6);

	return !(other[0] | other[1]);
}

/*
 * The columns of statistics that nine digits show. A buffer that has not changed since the last call, a flag or a constant
 * has those of the last row. They are kept when the minimum comes a second time: other numbers cost nothing.
 */
static inline __attribute__((always_inline)) char *write_repeated_statistics(
	char *p, const struct record *r, const struct journal_tensor *t, struct row_memory *memory)
{
	const struct stats *s = &t->stats;
	struct row_statistics *last = &memory->statistics[t->io != IO_IN];

	if (last->of.min.u == s->min.u)
		return last->bytes && has_same_statistics(&last->of, s)
			       ? copy_steps(p, last->text, last->bytes)
			       : write_kept_statistics(p, r, t, last);
	last->of.min.u = s->min.u;
	last->bytes = 0;
	return write_nine_digits(p, r, t);
}

static inline char *write_statistics(
	char *p, const struct record *r, const struct journal_tensor *t, struct row_memory *memory)
{
	static const struct row_values none;

	if (!t->stats.n) {
		memset(p, ',', COL_infs - COL_min + 1);
		return p + (COL_infs - COL_min + 1);
	}
	if (__builtin_expect(!has_nine_digits(get_dtype_info(t->dtype)), 0))
		return write_columns(p, r, t, "", &none, COL_min, COL_infs);
	return write_repeated_statistics(p, r, t, memory);
}

/* True if all columns after the tag are empty. */
static inline bool is_tail_empty(const struct row_values *v)
{
	return (v->wait_ns & v->dev_ns & v->issue_ns) == JOURNAL_NONE64 && !v->awaited;
}

/* The columns from the thread on. */
static char *write_tail_columns(char *p, const struct record *r, const struct journal_tensor *t,
	const char *name, const struct row_values *v, struct row_site *site)
{
	const struct journal_call *c = r->call;

	p = copy_row_piece(p, site, PIECE_THREAD);
	if (c->stack)
		p = write_u64(p, c->stack);
	p = write_char(p, ',');
	if (__builtin_expect(!(v->flags & (CF_ERROR | CF_NODE)) && !c->parent, 1))
		/* Copies two pieces at once: they are adjacent. */
		p = copy_steps(p, site->text + site->begin[PIECE_FLAGS],
			(size_t)site->bytes[PIECE_FLAGS] + site->bytes[PIECE_PHASE]);
	else
		p = write_columns(p, r, t, name, v, COL_flags, COL_phase);
	if (__builtin_expect(*name, 0))
		p = csv_write_field(p, name, ROW_STRING_MAX);
	p = write_char(p, ',');
	if (v->tag != JOURNAL_NONE)
		p = write_i64(p, v->tag);
	p = write_char(p, ',');
	if (__builtin_expect(!is_tail_empty(v) || (t && t->flags & TF_CRC), 0)) {
		p = write_columns(p, r, t, name, v, COL_tag + 1, COLUMNS - 1);
		p[-1] = '\n';
		return p;
	}
	memset(p, ',', COPY_NUMBER);
	p[COLUMNS_AFTER_TAG - 1] = '\n';
	return p + COLUMNS_AFTER_TAG;
}
_Static_assert(COLUMNS_AFTER_TAG <= COPY_NUMBER, "the commas of write_tail_columns()");

/* Parts of a row that the next one of the same call has too: `row` to `tensor`, and `after` to `end`. */
struct row_marks {
	const char *row, *tensor, *after, *end; /* row NULL: not known */
	uint16_t *shape; /* of the site */
};

/* Writes a row: copies the text of its site, and formats the other numbers. Returns NULL if the site's text is not kept. */
static inline char *write_known_row(char *p, const struct record *r, unsigned i,
	const struct row_values *v, struct row_memory *memory, struct row_marks *m)
{
	const struct journal_call *c = r->call;
	const struct journal_tensor *t = r->n ? r->tensor[i] : NULL;
	struct row_site *site = find_row_site(memory, r, v->flags);

	if (__builtin_expect(!site, 0))
		return NULL;
	m->row = p;
	p = write_step_columns(p, c, &memory->step);
	p = write_char(write_growing_number(p, &memory->seq, c->seq), ',');
	p = copy_row_piece(p, site, PIECE_API);
	if (__builtin_expect(v->comm_seq >= 0, 1))
		p = write_growing_number(p, &memory->comm_seq, (uint64_t)v->comm_seq);
	else if (v->comm_seq != JOURNAL_NONE64)
		p = write_i64(p, v->comm_seq);
	p = copy_row_piece(write_char(p, ','), site, PIECE_COMM);
	if (v->peer != JOURNAL_NONE)
		p = write_i64(p, v->peer);
	m->tensor = p = write_char(p, ',');
	if (__builtin_expect(t != NULL, 1)) {
		p = write_tensor_columns(p, r, t, memory, &site->shape[i % SITE_TENSORS]);
		p = write_statistics(p, r, t, memory);
	} else {
		memset(p, ',', COL_start_ns - COL_io);
		p += COL_start_ns - COL_io;
	}
	m->after = p;
	p = write_char(write_start_time(p, memory, clock_to_real(r->clock, c->start)), ',');
	if (v->dur_ns != JOURNAL_NONE64)
		p = write_i64(p, v->dur_ns);
	p = write_char(p, ',');
	m->end = p = write_tail_columns(p, r, t, t ? r->name[i] : "", v, site);
	m->shape = site->shape;
	return p;
}

/* True if the rows of both tensors of a call have the same columns, except those from io to infs. */
static inline bool is_row_alike(const struct record *r, unsigned a, unsigned b)
{
	const struct journal_tensor *s = r->tensor[a], *t = r->tensor[b];

	return s->comm_seq == t->comm_seq && s->peer == t->peer && s->tag == t->tag &&
	       !((s->flags ^ t->flags) & TF_NOSTATS) && !((s->flags | t->flags) & TF_CRC) &&
	       !*r->name[a] && !*r->name[b];
}

/* Writes a further row of the call, which differs from the row before in the columns from io to infs only. */
static inline char *write_row_alike(
	char *p, const struct record *r, unsigned i, struct row_memory *memory, struct row_marks *m)
{
	const char *row = p, *after;

	p = copy_steps(p, m->row, (size_t)(m->tensor - m->row));
	m->row = row;
	m->tensor = p;
	p = write_tensor_columns(p, r, r->tensor[i], memory, &m->shape[i % SITE_TENSORS]);
	after = p = write_statistics(p, r, r->tensor[i], memory);
	p = copy_steps(p, m->after, (size_t)(m->end - m->after));
	m->after = after;
	m->end = p;
	return p;
}

/* ---- plain rows ---- */

/* True if nothing in the row of a tensor differs from the call's columns, except those from io to infs. */
static inline bool is_tensor_plain(const struct journal_tensor *t, const char *name)
{
	return is_plain_tensor(t) && !(t->flags & TF_CRC) && !*name;
}

static __attribute__((noinline)) char *write_new_tail(
	char *p, const struct record *r, const struct journal_tensor *t, struct row_site *site)
{
	const struct row_values v = compute_plain_row(r->clock, r->call, t);
	char *end = write_tail_columns(p, r, t, "", &v, site);

	site->tail_bytes = 0;
	if (end - p <= SITE_TAIL) {
		memcpy(site->tail, p, (size_t)(end - p));
		site->tail_bytes = (uint8_t)(end - p);
		site->stack = r->call->stack;
	}
	return end;
}

/*
 * The rows of nearly all calls: they were complete when they returned, have no tag, parent or name, and their tensors have
 * no messages of their own. Returns NULL if the call is not like that.
 */
static char *write_plain_rows(char *p, const struct record *r, struct row_memory *memory)
{
	const struct journal_call *c = r->call;
	const struct journal_tensor *t = r->tensor[0];
	const uint8_t no_statistics = t->flags & TF_NOSTATS;
	const char *row = p, *tensor, *after, *end;
	struct row_site *site;

	if (c->parent || c->tag != JOURNAL_NONE || c->comm_seq < 0 ||
		!is_tensor_plain(t, r->name[0]))
		return NULL;
	site = find_row_site(memory, r, c->flags | (no_statistics ? CF_NOSTATS : 0u));
	if (__builtin_expect(!site, 0))
		return NULL;
	p = write_step_columns(p, c, &memory->step);
	p = copy_row_piece(
		write_char(write_growing_number(p, &memory->seq, c->seq), ','), site, PIECE_API);
	p = write_char(write_growing_number(p, &memory->comm_seq, (uint64_t)c->comm_seq), ',');
	p = copy_row_piece(p, site, PIECE_COMM);
	if (c->peer != JOURNAL_NONE)
		p = write_i64(p, c->peer);
	tensor = p = write_char(p, ',');
	p = write_tensor_columns(p, r, t, memory, &site->shape[0]);
	after = p = write_statistics(p, r, t, memory);
	p = write_char(write_start_time(p, memory, clock_to_real(r->clock, c->start)), ',');
	p = write_char(write_i64(p, compute_dur_ns(r->clock, c->start, c->end)), ',');
	if (__builtin_expect(site->tail_bytes && site->stack == c->stack, 1))
		end = p = copy_steps(p, site->tail, site->tail_bytes);
	else
		end = p = write_new_tail(p, r, t, site);
	for (unsigned i = 1; i < r->n; i++) {
		t = r->tensor[i];
		if (__builtin_expect(!is_tensor_plain(t, r->name[i]) ||
					     (t->flags & TF_NOSTATS) != no_statistics,
			    0))
			return NULL;
		p = copy_steps(p, row, (size_t)(tensor - row));
		p = write_tensor_columns(p, r, t, memory, &site->shape[i % SITE_TENSORS]);
		p = write_statistics(p, r, t, memory);
		p = copy_steps(p, after, (size_t)(end - after));
	}
	return p;
}

/* ---- rows of a known site ---- */

/* Makes the text of the record's site. Returns false, and notes the site as refused, if its text cannot be kept. */
static __attribute__((noinline)) bool init_site_rows(struct site_rows *k, const struct record *r)
{
	const struct row_values v = compute_plain_row(r->clock, r->call, r->tensor[0]);
	char text[4 * ROW_STRING_MAX * 2 + 2048], *end = text, *from = text;

	k->serial = 0;
	k->refused = r->site->serial;
	for (unsigned i = 1; i < r->n; i++)
		if ((r->tensor[i]->flags ^ r->tensor[0]->flags) & TF_NOSTATS)
			return false;
	end = write_columns(end, r, NULL, "", &v, COL_lib, COL_comm);
	k->api = (uint16_t)(end - from);
	from = end;
	end = write_columns(end, r, NULL, "", &v, COL_rank, COL_peer);
	k->call = (uint16_t)(end - from);
	from = end;
	end = write_columns(end, r, NULL, "", &v, COL_thread, COLUMNS - 1);
	/* The last field has a comma too. */
	end[-1] = '\n';
	k->tail = (uint16_t)(end - from);
	for (unsigned i = 0; i < r->n; i++) {
		from = end;
		end = write_columns(end, r, r->tensor[i], "", &v, COL_io, COL_bytes);
		k->tensor[i] = (uint16_t)(end - from);
		k->has_nine_digits[i] = has_nine_digits(get_dtype_info(r->tensor[i]->dtype));
	}
	if (end - text > KNOWN_TEXT)
		return false;
	memcpy(k->text, text, (size_t)(end - text));
	k->serial = r->site->serial;
	k->refused = 0;
	return true;
}

/* Like write_statistics(), for the i-th tensor of a known site. */
static inline __attribute__((always_inline)) char *write_site_statistics(char *p,
	const struct record *r, unsigned i, struct row_memory *memory, const struct site_rows *k)
{
	const struct journal_tensor *t = r->tensor[i];

	if (__builtin_expect(!t->stats.n || !k->has_nine_digits[i], 0))
		return write_statistics(p, r, t, memory);
	return write_repeated_statistics(p, r, t, memory);
}

/* Writes the rows of a call that has a known site and a number on its communicator. */
static char *write_site_rows(
	char *p, const struct record *r, struct row_memory *memory, const struct site_rows *k)
{
	const struct journal_call *c = r->call;
	const char *row = p, *text = k->text, *tensor, *after, *end;

	p = write_step_columns(p, c, &memory->step);
	p = write_char(write_growing_number(p, &memory->seq, c->seq), ',');
	p = copy_steps(p, text, k->api);
	p = write_char(write_growing_number(p, &memory->comm_seq, (uint64_t)c->comm_seq), ',');
	tensor = p = copy_steps(p, text + k->api, k->call);
	text += k->api + k->call + k->tail;
	p = copy_steps(p, text, k->tensor[0]);
	after = p = write_site_statistics(p, r, 0, memory, k);
	p = write_char(write_start_time(p, memory, clock_to_real(r->clock, c->start)), ',');
	p = write_char(write_i64(p, compute_dur_ns(r->clock, c->start, c->end)), ',');
	end = p = copy_steps(p, text - k->tail, k->tail);
	for (unsigned i = 1; i < r->n; i++) {
		p = copy_steps(p, row, (size_t)(tensor - row));
		text += k->tensor[i - 1];
		p = copy_steps(p, text, k->tensor[i]);
		p = write_site_statistics(p, r, i, memory, k);
		p = copy_steps(p, after, (size_t)(end - after));
	}
	return p;
}

static __attribute__((noinline)) size_t format_any_rows(
	char *at, const struct record *r, struct row_memory *memory)
{
	const bool plain = is_plain_call(r->call, r->end, r->open);
	struct row_marks m = {0};
	char *p = at;
	unsigned i = 0;

	if (memory && plain && r->n) {
		p = write_plain_rows(p, r, memory);
		if (__builtin_expect(p != NULL, 1))
			return (size_t)(p - at);
		p = at;
	}
	do {
		const struct journal_tensor *t = r->n ? r->tensor[i] : NULL;
		char *end = NULL;

		if (m.row && is_row_alike(r, i - 1, i)) {
			p = write_row_alike(p, r, i, memory, &m);
			continue;
		}
		if (memory) {
			const struct row_values v =
				plain && t && is_plain_tensor(t)
					? compute_plain_row(r->clock, r->call, t)
					: compute_row(r->clock, r->call, r->end, t, r->open);

			end = write_known_row(p, r, i, &v, memory, &m);
		}
		if (!end) {
			m.row = NULL;
			end = write_row_columns(p, r, t, t ? r->name[i] : "");
		}
		p = end;
	} while (++i < r->n);
	return (size_t)(p - at);
}

size_t rows_format(char *at, const struct record *r, struct row_memory *memory)
{
	if (__builtin_expect(memory && r->site && r->call->comm_seq >= 0, 1)) {
		struct site_rows *k = &memory->known[r->site->slot];

		if (__builtin_expect(k->serial == r->site->serial, 1) ||
			(k->refused != r->site->serial && init_site_rows(k, r)))
			return (size_t)(write_site_rows(at, r, memory, k) - at);
	}
	return format_any_rows(at, r, memory);
}
