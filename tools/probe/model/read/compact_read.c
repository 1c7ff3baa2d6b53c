/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a block: each is converted to what a journal would contain of it, with nanoseconds
 * instead of ticks. compact_calls.c uses the numbers directly. rows_format() makes text of them if
 * text is needed.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journal/columns.h"
#include "text/decimal.h"
#include "text/nine_digits.h"
#include "text/write.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/compact_reader.h"
#include "tools/probe/model/read/side.h"

bool is_compact_name(const char *name)
{
	size_t n = strlen(name), end = sizeof(COMPACT_SUFFIX) - 1;

	return n >= end && strcmp(name + n - end, COMPACT_SUFFIX) == 0;
}

struct compact_reader *compact_reader_open(void)
{
	return tool_alloc(sizeof(struct compact_reader));
}

void compact_reader_reset(struct compact_reader *r)
{
	reset_dictionaries(r);
	r->known = r->skips = r->begun = false;
	r->left = 0;
	r->skip_to = 0;
}

void compact_reader_free(struct compact_reader *r)
{
	if (!r)
		return;
	reset_dictionaries(r);
	free(r->text);
	free(r->comm);
	free(r->function);
	free(r->tensor);
	free(r->site);
	free(r->site_tensor);
	free(r->api);
	free(r->block);
	free(r->rows);
	free(r);
}

/* ---- calls ---- */

static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/*
 * Returns the value of nine digits, the first of which has the weight 10^(exponent + 8). For
 * exponents whose power a double cannot represent exactly.
 */
static __attribute__((noinline)) double compute_far_decimal(uint32_t digits, int exponent)
{
	char text[32];

	snprintf(text, sizeof(text), "%ue%d", digits, exponent);
	return strtod(text, NULL);
}

/* Returns the value of nine digits, the first of which has the weight 10^exponent. */
static inline double compute_decimal(uint32_t digits, int exponent)
{
	double v = (double)digits;

	exponent -= 8;
	/* Both operands are exact, so that the result is the nearest double. */
	if (__builtin_expect(exponent < 0 && exponent >= -22, 1))
		return v / tens[-exponent];
	return exponent >= 0 && exponent <= 22 ? v * tens[exponent]
					       : compute_far_decimal(digits, exponent);
}

/*
 * Returns true if the text has at least SIDE_TELLING_DIGITS digits, not counting trailing zeros
 * after the decimal point.
 */
static inline bool is_telling_decimal(uint32_t digits, int exponent)
{
	return digits % 1000 || (exponent >= SIDE_TELLING_DIGITS - 1 && exponent < 9);
}

/* Like compute_text_value(), for a number whose digits are not easily found. */
static __attribute__((noinline)) double compute_odd_text_value(double v, bool *telling)
{
	char text[DECIMAL_TEXT_MAX + WRITE_SLACK];
	struct csv_text t = {.s = text};

	*telling = false;
	if (v == 0 || !isfinite(v))
		return v;
	t.n = (size_t)(write_double_9(text, v) - text);
	*telling = has_telling_digits(&t);
	csv_parse_double_fast(&t, &v);
	return v;
}

/* Returns the value of a number's nine digits, which a reader of the text would get. */
static inline double compute_text_value(double v, bool *telling)
{
	uint32_t digits;
	int exponent;

	if (__builtin_expect(!decimal_find_digits_9(v, &digits, &exponent), 0))
		return compute_odd_text_value(v, telling);
	*telling = is_telling_decimal(digits, exponent);
	return copysign(compute_decimal(digits, exponent), v);
}

/* wide: the number is printed with all digits. */
static inline __attribute__((always_inline)) void read_real(
	struct compact_reader *r, unsigned column, unsigned width, bool wide, struct lane *value)
{
	union stats_value v = {.u = 0};
	uint32_t digits;
	int exponent;
	float narrow;

	if (width == CW_DECIMAL) {
		read_bytes(r, column, &v, 5);
		digits = (uint32_t)(v.u & ((UINT64_C(1) << COMPACT_SIGN_BIT) - 1)) +
			 COMPACT_DIGITS_MIN;
		exponent = (int)(v.u >> COMPACT_EXPONENT_BIT) - COMPACT_EXPONENT_BIAS;
		if (column == CC_MIN || column == CC_MAX)
			value->telling = is_telling_decimal(digits, exponent);
		value->v.f = compute_decimal(digits, exponent);
		if (v.u >> COMPACT_SIGN_BIT & 1)
			value->v.f = -value->v.f;
		return;
	}
	if (width == CW_BEFORE)
		return;
	if (width == CW_FOUR) {
		read_bytes(r, column, &narrow, 4);
		v.f = (double)narrow;
	} else {
		read_bytes(r, column, &v, 8);
	}
	value->v.f = wide ? v.f : compute_text_value(v.f, &value->telling);
}

static void read_compact_integer(struct compact_reader *r, unsigned column, unsigned width,
	bool is_signed, struct lane *value)
{
	union stats_value v = {.u = 0};
	uint32_t narrow;

	if (width == CW_BEFORE)
		return;
	if (width == CW_FOUR) {
		read_bytes(r, column, &narrow, 4);
		v.i = is_signed ? (int32_t)narrow : (int64_t)narrow;
	} else if (width == CW_EIGHT) {
		read_bytes(r, column, &v, 8);
	} else {
		r->bad = true;
	}
	value->v = v;
	value->telling =
		is_signed && v.i < 0 ? v.i <= -SIDE_TELLING_INTEGER : v.u >= SIDE_TELLING_INTEGER;
}

static void read_statistics(struct compact_reader *r, unsigned row)
{
	const struct journal_tensor *kind = r->kind[row];
	const struct dtype_info *d = get_dtype_info(kind->dtype);
	struct stats *s = &r->row[row].t.stats;
	struct lane(*before)[4] = r->before[kind->io != IO_IN], *real = before[d->wide],
	       *extreme = real;
	unsigned char widths;

	read_bytes(r, CC_WIDTHS, &widths, 1);
	if (!compact_has_integers(d)) {
		read_real(r, CC_MIN, widths & 3, d->wide, &real[0]);
		read_real(r, CC_MAX, widths >> 2 & 3, d->wide, &real[1]);
	} else {
		bool is_signed = d->cls == DTC_SIGNED;

		extreme = before[COMPACT_INTEGERS];
		read_compact_integer(r, CC_MIN, widths & 3, is_signed, &extreme[0]);
		read_compact_integer(r, CC_MAX, widths >> 2 & 3, is_signed, &extreme[1]);
	}
	read_real(r, CC_MEAN, widths >> 4 & 3, d->wide, &real[2]);
	read_real(r, CC_NORM, widths >> 6, d->wide, &real[3]);
	s->min = extreme[0].v;
	s->max = extreme[1].v;
	s->mean = real[2].v.f;
	s->norm = real[3].v.f;
	r->telling[row] = extreme[0].telling || extreme[1].telling;
}

static int64_t read_optional(struct compact_reader *r, int64_t none)
{
	uint64_t v = read_compact_number(r, CC_ROW);

	return v ? compact_read_zigzag(v - 1) : none;
}

static void read_row_values(struct compact_reader *r, unsigned row)
{
	const struct journal_tensor *of = r->kind[row];
	struct journal_tensor *t = &r->row[row].t;
	unsigned char kind;

	read_bytes(r, CC_KIND, &kind, 1);
	t->stats = (struct stats){0};
	if (kind & CR_STATISTICS) {
		read_statistics(r, row);
		t->stats.n = compact_compute_components(of->dtype, of->count);
	}
	t->comm_seq = JOURNAL_NONE64;
	t->peer = t->tag = JOURNAL_NONE;
	t->crc = 0;
	t->flags =
		(uint8_t)((kind & CR_NOSTATS ? TF_NOSTATS : 0) | (kind & CR_CHECKSUM ? TF_CRC : 0));
	if (__builtin_expect(!(kind & ~(CR_STATISTICS | CR_NOSTATS)), 1))
		return;
	if (kind & CR_ZEROS)
		t->stats.zeros = read_compact_number(r, CC_ROW);
	if (kind & CR_NANS)
		t->stats.nans = read_compact_number(r, CC_ROW);
	if (kind & CR_INFS)
		t->stats.infs = read_compact_number(r, CC_ROW);
	if (kind & CR_COMPONENTS)
		t->stats.n = read_compact_number(r, CC_ROW);
	if (!(kind & CR_STATISTICS))
		t->stats.n = 0;
	if (kind & CR_CHECKSUM)
		read_bytes(r, CC_ROW, &t->crc, 4);
	if (kind & CR_OWN) {
		t->comm_seq = read_optional(r, JOURNAL_NONE64);
		t->peer = (int32_t)read_optional(r, JOURNAL_NONE);
		t->tag = (int32_t)read_optional(r, JOURNAL_NONE);
	}
}

/* Reads the data of the call that its site does not determine. */
static void read_rare(struct compact_reader *r, struct function *f, struct comm *comm)
{
	struct journal_call *c = &r->call.c;
	uint64_t present = r->present = read_compact_number(r, CC_PRESENT), issue;

	if (present & CP_STEP)
		r->step = (int64_t)((uint64_t)r->step + (uint64_t)read_signed(r, CC_CALL));
	if (present & CP_MICRO_STEP)
		r->micro_step = (uint32_t)read_compact_number(r, CC_CALL) - 1;
	c->step = (uint32_t)r->step;
	c->micro_step = r->micro_step;
	c->comm_seq = comm->next;
	if (present & CP_COMM_SEQ)
		c->comm_seq = (int64_t)((comm->next == JOURNAL_NONE64 ? 0 : (uint64_t)comm->next) +
					(uint64_t)read_signed(r, CC_CALL));
	else if (present & CP_NO_COMM_SEQ)
		c->comm_seq = JOURNAL_NONE64;
	comm->next = c->comm_seq == JOURNAL_NONE64 ? JOURNAL_NONE64
						   : (int64_t)((uint64_t)c->comm_seq + 1);
	if (present & CP_PEER)
		f->peer = (int32_t)((uint64_t)f->peer + (uint64_t)read_signed(r, CC_CALL));
	if (present & CP_TAG)
		f->tag = (int32_t)((uint64_t)f->tag + (uint64_t)read_signed(r, CC_CALL));
	c->peer = f->peer;
	c->tag = f->tag;
	if (present & CP_WAIT) {
		c->wait = read_compact_number(r, CC_CALL);
		c->wait = c->wait ? c->wait : JOURNAL_NO_WAIT;
	}
	if (present & CP_ISSUE) {
		issue = read_compact_number(r, CC_CALL);
		if (c->flags & CF_ASYNC)
			c->end = c->start + issue;
		else
			c->wait = issue ? issue : JOURNAL_NO_WAIT;
	}
	if (present & CP_DEVICE)
		r->end.device_ns = read_compact_number(r, CC_CALL);
	if (present & CP_PARENT)
		c->parent = c->seq - (uint64_t)read_signed(r, CC_CALL);
	if (present & CP_ERROR)
		c->error = (int32_t)read_signed(r, CC_CALL);
	if (present & CP_NODE)
		c->comm_seq = (int64_t)read_compact_number(r, CC_CALL);
	if (present & CP_AWAIT) {
		read_bytes(r, CC_CALL, &r->call.awaited.dtype, 1);
		r->call.awaited.count = read_compact_number(r, CC_CALL);
		c->e.bytes += sizeof(r->call.awaited);
	}
}

static void read_call(struct compact_reader *r)
{
	struct journal_call *c = &r->call.c;
	struct site *site;
	struct function *f;
	struct comm *comm;
	uint32_t number = read_entry(r, CC_SITE, r->nsite);

	if (r->bad)
		return;
	r->site_of_call = site = &r->site[number];
	f = &r->function[site->function];
	comm = &r->comm[f->comm];
	r->seq += (uint64_t)read_signed(r, CC_SEQ) + 1;
	r->start += (uint64_t)read_signed(r, CC_START);
	c->seq = r->seq;
	c->start = r->start;
	c->flags = f->flags;
	c->comm = comm->id;
	c->end = c->parent = c->wait = 0;
	c->error = 0;
	c->e.bytes = sizeof(*c);
	r->end.end = r->end.device_ns = 0;
	read_rare(r, f, comm);
	r->record.open = f->flags & CF_OPEN;
	if (!r->record.open)
		r->end.end = r->start + read_compact_number(r, CC_DURATION);
	r->record.end = r->record.open ? NULL : &r->end;
	r->record.api = f->api;
	r->record.n = site->n;
	for (unsigned i = 0; i < site->n; i++) {
		r->kind[i] = r->tensor[r->site_tensor[site->first + i]].t;
		read_row_values(r, i);
	}
}

int compact_read_next_call(struct compact_reader *r, struct source *s)
{
	for (;;) {
		int got = r->left ? 1 : read_compact_block(r, s);

		if (got <= 0)
			return got;
		r->left--;
		read_call(r);
		if (r->bad) {
			s->damaged += 1 + r->left;
			r->left = 0;
			r->known = false;
			continue;
		}
		if (!r->skips)
			return 1;
	}
}

/* Copies the data of the call that is in the dictionaries. */
static void copy_call_constants(struct compact_reader *r)
{
	const struct site *site = r->site_of_call;
	const struct function *f = &r->function[site->function];
	const struct comm *comm = &r->comm[f->comm];
	struct journal_call *c = &r->call.c;

	c->comm_rank = comm->rank;
	c->comm_size = comm->size;
	c->root = f->root;
	c->stack = site->stack;
	c->tid = f->thread;
	c->api = f->number;
	c->redop = f->redop;
	c->phase = f->phase;
	r->end.comm_seq = JOURNAL_NONE64;
	r->end.peer = r->end.tag = JOURNAL_NONE;
}

/* Copies the data of the tensors that is in the dictionary. */
static void copy_row_constants(struct compact_reader *r)
{
	const struct site *site = r->site_of_call;

	for (unsigned i = 0; i < r->record.n; i++) {
		const struct tensor *tensor = &r->tensor[r->site_tensor[site->first + i]];
		struct journal_tensor *t = &r->row[i].t;

		t->io = tensor->t->io;
		t->dtype = tensor->t->dtype;
		t->index = tensor->t->index;
		t->ndim = tensor->t->ndim;
		t->count = tensor->t->count;
		t->bytes = tensor->t->bytes;
		memcpy(t + 1, tensor->t + 1,
			journal_get_tensor_bytes(tensor->t->ndim) - sizeof(*tensor->t));
		r->row_tensor[i] = t;
		r->row_name[i] = tensor->name;
	}
}

static size_t format_call(struct compact_reader *r, const char **text, struct row_memory *memory)
{
	size_t space = (r->record.n ? r->record.n : 1) * (size_t)ROW_MAX;

	copy_call_constants(r);
	copy_row_constants(r);
	/* The clock's anchor is the call's own start, of which all 64 bits are used. */
	r->clock = (struct clock_base){
		.ns_per_tick = 1, .tick = r->call.c.start, .real_ns = r->call.c.start};
	r->record.clock = &r->clock;
	r->record.call = &r->call.c;
	r->record.tensor = r->row_tensor;
	r->record.name = r->row_name;
	if (space > r->cap_rows) {
		r->rows = tool_realloc(r->rows, space);
		r->cap_rows = space;
	}
	*text = r->rows;
	return rows_format(r->rows, &r->record, r->call.c.api == APIS_MAX ? NULL : memory);
}

size_t compact_format_call(struct compact_reader *r, const char **text)
{
	return format_call(r, text, NULL);
}

int compact_read_call(
	struct compact_reader *r, struct source *s, const char **text, size_t *n, unsigned *rows)
{
	int got = compact_read_next_call(r, s);

	if (got > 0) {
		if (!r->memory)
			r->memory = row_memory_new();
		*n = format_call(r, text, r->memory);
		*rows = r->record.n ? r->record.n : 1;
	}
	return got;
}

/*
 * Finds the last block before the byte `offset` that begins with dictionaries. Reading starts with
 * it, but calls are returned from `offset` on.
 */
void compact_start_at(struct compact_reader *r, struct source *s, uint64_t offset)
{
	uint64_t first = s->at, at = s->at;
	unsigned char head[COMPACT_HEAD];

	if (r->left || at)
		return; /* reading has begun already */
	while (at < offset) {
		s->at = at;
		if (source_read_piece(s, head, sizeof(head)) != (ssize_t)sizeof(head) ||
			memcmp(head, COMPACT_MAGIC, 4) ||
			compact_read_u32(head + COMPACT_AT_BYTES) < COMPACT_HEAD)
			break;
		if (compact_read_u32(head + COMPACT_AT_FLAGS) & COMPACT_FIRST)
			first = at;
		at += compact_read_u32(head + COMPACT_AT_BYTES);
	}
	s->at = first;
	r->skip_to = offset;
}

/* ---- as a source of text ---- */

static void *open_decoder(void)
{
	return compact_reader_open();
}

static void close_decoder(void *state)
{
	compact_reader_free(state);
}

static ssize_t read_decoded(void *state, struct source *s, void *buf, size_t cap)
{
	struct compact_reader *r = state;
	size_t done = 0;
	unsigned rows;

	if (!r->begun) {
		r->out = ROW_HEADER;
		r->nout = strlen(ROW_HEADER);
		r->begun = true;
	}
	while (done < cap) {
		if (!r->nout) {
			int got = compact_read_call(r, s, &r->out, &r->nout, &rows);

			if (got < 0 && !done)
				return got;
			if (got <= 0)
				break;
		}

		size_t n = r->nout < cap - done ? r->nout : cap - done;

		memcpy((char *)buf + done, r->out, n);
		done += n;
		r->out += n;
		r->nout -= n;
	}
	return (ssize_t)done;
}

static void start_decoded_at(void *state, struct source *s, uint64_t offset)
{
	compact_start_at(state, s, offset);
}

const struct source_decoder compact_decoder = {
	.open = open_decoder,
	.read = read_decoded,
	.skip = start_decoded_at,
	.close = close_decoder,
};
