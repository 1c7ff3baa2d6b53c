/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block is read as a whole and checked. Then each of its calls becomes what a journal would have of it, with nanoseconds for
 * ticks, and rows_format() makes the text. Every number is compared with what there is room for: the file may be anything.
 */
#include "tools/probe/model/read/compact_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/compact/compact_layout.h"
#include "journal/columns.h"
#include "sink/calls_csv.h"
#include "sink/sink.h"
#include "tools/lib/tool.h"

#define TEXT_BYTES (1u << 16) /* of rows that are made at once */
#define APIS_MAX 60000 /* that rows_format() can tell from each other */

/* ---- what a file has said so far ---- */

struct comm {
	uint64_t id;
	int64_t next; /* the comm_seq that is expected */
	int32_t rank, size;
};

struct function {
	struct row_api api;
	uint32_t comm, thread, flags;
	int32_t root, peer, tag;
	uint16_t number; /* of the api */
	uint8_t redop, phase;
};

struct tensor {
	struct journal_tensor *t; /* followed by its dims */
	const char *name;
};

struct site {
	uint32_t function, stack, n;
	uint32_t first; /* of its tensors in site_tensor */
};

struct bytes {
	const unsigned char *at, *end;
};

struct compact_reader {
	/* Dictionaries. */
	char **text;
	struct comm *comm;
	struct function *function;
	struct tensor *tensor;
	struct site *site;
	uint32_t *site_tensor;
	struct row_api *api;
	unsigned ntext, ncomm, nfunction, ntensor, nsite, nsite_tensor, napi;
	unsigned cap_text, cap_comm, cap_function, cap_tensor, cap_site, cap_site_tensor, cap_api;
	bool known; /* nothing of them was missed */
	struct row_memory *memory;
	/* The block. */
	unsigned char *block;
	size_t cap_block;
	uint64_t skip_to; /* blocks that begin before that byte only tell what the others need */
	bool skips;
	struct bytes column[COMPACT_COLUMNS];
	uint32_t left; /* calls in it */
	bool bad; /* a number led out of its column, or to nothing */
	uint64_t seq, start, before[2][COMPACT_LANES][4];
	int64_t step;
	uint32_t micro_step;
	/* One call, and its text. */
	struct {
		struct journal_call c;
		struct journal_tensor awaited;
	} call;
	struct journal_end end;
	struct {
		struct journal_tensor t;
		uint64_t dim[ROW_DIMS_MAX];
	} row[RECORD_TENSORS_MAX];
	const struct journal_tensor *row_tensor[RECORD_TENSORS_MAX];
	const char *row_name[RECORD_TENSORS_MAX];
	char *rows;
	size_t cap_rows;
	/* As a source of text. */
	const char *out;
	size_t nout;
	bool begun;
};

bool is_compact_name(const char *name)
{
	size_t n = strlen(name), end = sizeof(COMPACT_SUFFIX) - 1;

	return n >= end && strcmp(name + n - end, COMPACT_SUFFIX) == 0;
}

struct compact_reader *compact_reader_open(void)
{
	return tool_alloc(sizeof(struct compact_reader));
}

static void reset_dictionaries(struct compact_reader *r)
{
	for (unsigned i = 0; i < r->ntext; i++)
		free(r->text[i]);
	for (unsigned i = 0; i < r->ntensor; i++)
		free(r->tensor[i].t);
	r->ntext = r->ncomm = r->nfunction = r->ntensor = r->nsite = r->nsite_tensor = r->napi = 0;
	row_memory_free(r->memory);
	r->memory = NULL;
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

/* ---- numbers ---- */

static uint64_t read_compact_number(struct compact_reader *r, unsigned column)
{
	struct bytes *c = &r->column[column];
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		unsigned char b = *c->at++;

		v |= (uint64_t)(b & 127) << shift;
		if (b < 128)
			return v;
	}
	r->bad = true;
	c->at = c->end;
	return 0;
}

static int64_t read_signed(struct compact_reader *r, unsigned column)
{
	return compact_read_zigzag(read_compact_number(r, column));
}

/* A number below that of a dictionary's entries. */
static uint32_t read_entry(struct compact_reader *r, unsigned column, uint32_t n)
{
	uint64_t v = read_compact_number(r, column);

	if (v < n)
		return (uint32_t)v;
	r->bad = true;
	return 0;
}

static void read_bytes(struct compact_reader *r, unsigned column, void *to, size_t n)
{
	struct bytes *c = &r->column[column];

	if ((size_t)(c->end - c->at) < n) {
		r->bad = true;
		memset(to, 0, n);
		c->at = c->end;
		return;
	}
	memcpy(to, c->at, n);
	c->at += n;
}

static bool has_more(const struct compact_reader *r, unsigned column)
{
	return !r->bad && r->column[column].at < r->column[column].end;
}

/* ---- dictionaries ---- */

static void read_texts(struct compact_reader *r)
{
	while (has_more(r, CC_TEXTS)) {
		uint64_t n = read_compact_number(r, CC_TEXTS);
		char *text;

		if (n > COMPACT_TEXT_MAX) {
			r->bad = true;
			return;
		}
		text = tool_alloc(n + 1);
		read_bytes(r, CC_TEXTS, text, n);
		TOOL_GROW(r->text, r->ntext, r->cap_text);
		r->text[r->ntext++] = text;
	}
}

static void read_comms(struct compact_reader *r)
{
	while (has_more(r, CC_COMMS)) {
		struct comm c;

		read_bytes(r, CC_COMMS, &c.id, 8);
		c.rank = (int32_t)read_signed(r, CC_COMMS);
		c.size = (int32_t)read_signed(r, CC_COMMS);
		c.next = c.id ? 0 : JOURNAL_NONE64;
		TOOL_GROW(r->comm, r->ncomm, r->cap_comm);
		r->comm[r->ncomm++] = c;
	}
}

/* rows_format() knows an api by its number. */
static uint16_t find_api_number(struct compact_reader *r, const struct row_api *a)
{
	for (unsigned i = r->napi; i-- > 0;)
		if (r->api[i].symbol == a->symbol && r->api[i].lib == a->lib &&
			r->api[i].op == a->op)
			return (uint16_t)i;
	if (r->napi == APIS_MAX)
		return APIS_MAX;
	TOOL_GROW(r->api, r->napi, r->cap_api);
	r->api[r->napi] = *a;
	return (uint16_t)r->napi++;
}

static void read_functions(struct compact_reader *r)
{
	while (has_more(r, CC_FUNCTIONS)) {
		uint32_t lib = read_entry(r, CC_FUNCTIONS, r->ntext),
			 symbol = read_entry(r, CC_FUNCTIONS, r->ntext),
			 op = read_entry(r, CC_FUNCTIONS, r->ntext),
			 comm = read_entry(r, CC_FUNCTIONS, r->ncomm);
		struct function f = {.comm = comm, .peer = JOURNAL_NONE, .tag = JOURNAL_NONE};
		uint64_t root;

		f.thread = (uint32_t)read_compact_number(r, CC_FUNCTIONS);
		f.redop = (uint8_t)read_compact_number(r, CC_FUNCTIONS);
		f.phase = (uint8_t)read_compact_number(r, CC_FUNCTIONS);
		root = read_compact_number(r, CC_FUNCTIONS);
		f.root = root ? (int32_t)compact_read_zigzag(root - 1) : JOURNAL_NONE;
		f.flags = (uint32_t)read_compact_number(r, CC_FUNCTIONS);
		if (r->bad)
			return;
		f.api = (struct row_api){
			.lib = r->text[lib], .symbol = r->text[symbol], .op = r->text[op]};
		f.number = find_api_number(r, &f.api);
		TOOL_GROW(r->function, r->nfunction, r->cap_function);
		r->function[r->nfunction++] = f;
	}
}

static void read_tensors(struct compact_reader *r)
{
	while (has_more(r, CC_TENSORS)) {
		uint64_t dim[ROW_DIMS_MAX], dims, name;
		struct journal_tensor *t;
		unsigned char lead[2];
		uint16_t index;

		read_bytes(r, CC_TENSORS, lead, 2);
		index = (uint16_t)read_compact_number(r, CC_TENSORS);
		dims = read_compact_number(r, CC_TENSORS);
		if (dims > ROW_DIMS_MAX + 1)
			r->bad = true;
		for (uint64_t i = 0; !r->bad && i + 1 < dims; i++)
			dim[i] = read_compact_number(r, CC_TENSORS);
		if (r->bad)
			return;
		t = tool_alloc(sizeof(*t) + sizeof(dim));
		*t = (struct journal_tensor){.io = lead[0] ? IO_OUT : IO_IN,
			.dtype = lead[1],
			.index = index,
			.ndim = dims ? (uint8_t)(dims - 1) : JOURNAL_NDIM_NONE};
		if (dims)
			memcpy(t + 1, dim, (dims - 1) * sizeof(*dim));
		t->count = read_compact_number(r, CC_TENSORS);
		t->bytes = read_compact_number(r, CC_TENSORS);
		name = read_entry(r, CC_TENSORS, r->ntext + 1);
		TOOL_GROW(r->tensor, r->ntensor, r->cap_tensor);
		r->tensor[r->ntensor++] = (struct tensor){t, name ? r->text[name - 1] : ""};
	}
}

static void read_sites(struct compact_reader *r)
{
	while (has_more(r, CC_SITES)) {
		struct site s = {.function = read_entry(r, CC_SITES, r->nfunction),
			.first = r->nsite_tensor};
		uint64_t n;

		s.stack = (uint32_t)read_compact_number(r, CC_SITES);
		n = read_compact_number(r, CC_SITES);
		if (n > RECORD_TENSORS_MAX)
			r->bad = true;
		for (; !r->bad && s.n < n; s.n++) {
			TOOL_GROW(r->site_tensor, r->nsite_tensor, r->cap_site_tensor);
			r->site_tensor[r->nsite_tensor++] = read_entry(r, CC_SITES, r->ntensor);
		}
		if (r->bad)
			return;
		TOOL_GROW(r->site, r->nsite, r->cap_site);
		r->site[r->nsite++] = s;
	}
}

/* ---- blocks ---- */

/* Exactly n bytes: 1; 0: the file ends before them; -errno. */
static int read_whole(struct source *s, unsigned char *to, size_t n)
{
	for (size_t got = 0; got < n;) {
		ssize_t more = source_read_piece(s, to + got, n - got);

		if (more < 0)
			return (int)more;
		if (!more) {
			s->truncated |= got > 0;
			return 0;
		}
		got += (size_t)more;
	}
	return 1;
}

static void start_reading_block(struct compact_reader *r, size_t bytes)
{
	struct bytes all = {r->block + COMPACT_HEAD, r->block + bytes};
	uint64_t size[COMPACT_COLUMNS];
	uint32_t flags = compact_read_u32(r->block + COMPACT_AT_FLAGS), columns = flags >> 16;

	r->bad = columns < COMPACT_COLUMNS;
	r->column[0] = all;
	for (unsigned i = 0; i < columns; i++) {
		uint64_t n = read_compact_number(r, 0);

		/* Those of a later version come after ours. */
		if (i < COMPACT_COLUMNS)
			size[i] = n;
	}
	all.at = r->column[0].at;
	for (unsigned i = 0; i < COMPACT_COLUMNS && !r->bad; i++) {
		if (size[i] > (size_t)(all.end - all.at)) {
			r->bad = true;
			break;
		}
		r->column[i] = (struct bytes){all.at, all.at + size[i]};
		all.at += size[i];
	}
	if (r->bad)
		return;
	if (flags & COMPACT_FIRST) {
		reset_dictionaries(r);
		r->known = true;
	}
	if (!r->memory)
		r->memory = row_memory_new();
	r->seq = r->start = 0;
	r->step = 0;
	r->micro_step = UINT32_MAX;
	memset(r->before, 0, sizeof(r->before));
	read_texts(r);
	read_comms(r);
	read_functions(r);
	read_tensors(r);
	read_sites(r);
}

/* The next block that can be read, with calls. As compact_read_call(). */
static int read_compact_block(struct compact_reader *r, struct source *s)
{
	unsigned char head[COMPACT_HEAD];
	uint32_t bytes;
	int got;

	for (;;) {
		uint64_t at = s->at;

		got = read_whole(s, head, sizeof(head));
		if (got <= 0)
			return got;
		bytes = compact_read_u32(head + COMPACT_AT_BYTES);
		if (memcmp(head, COMPACT_MAGIC, 4) || bytes < COMPACT_HEAD ||
			bytes > COMPACT_BLOCK_MAX) {
			s->truncated = true;
			s->at = s->limit; /* where the next one begins is not known */
			return 0;
		}
		if (bytes > r->cap_block) {
			r->block = tool_realloc(r->block, bytes);
			r->cap_block = bytes;
		}
		memcpy(r->block, head, sizeof(head));
		got = read_whole(s, r->block + COMPACT_HEAD, bytes - COMPACT_HEAD);
		if (got <= 0) {
			s->truncated = true;
			return got;
		}
		r->left = compact_read_u32(head + COMPACT_AT_CALLS);
		r->skips = at < r->skip_to;
		r->bad = compact_read_u32(head + COMPACT_AT_SUM) !=
			 crc32_z(0, r->block + COMPACT_SUM_FROM, bytes - COMPACT_SUM_FROM);
		if (!r->bad &&
			(r->known || compact_read_u32(head + COMPACT_AT_FLAGS) & COMPACT_FIRST))
			start_reading_block(r, bytes);
		else
			r->bad = true;
		if (!r->bad) {
			if (r->left)
				return 1;
			continue;
		}
		/* Without it the next ones say nothing, up to where dictionaries begin. */
		s->damaged += r->left < COMPACT_CALLS_MAX ? r->left : COMPACT_CALLS_MAX;
		r->left = 0;
		r->known = false;
	}
}

/* ---- calls ---- */

static double compute_number(uint64_t v)
{
	static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	double digits =
		(double)((v & ((UINT64_C(1) << COMPACT_SIGN_BIT) - 1)) + COMPACT_DIGITS_MIN);
	int exponent = (int)(v >> COMPACT_EXPONENT_BIT & 511) - COMPACT_EXPONENT_BIAS - 8;
	char text[32];

	/* Both are exact, so that the result is the nearest double. */
	if (exponent < 0 && exponent >= -22) {
		digits /= tens[-exponent];
	} else if (exponent >= 0 && exponent <= 22) {
		digits *= tens[exponent];
	} else {
		snprintf(text, sizeof(text), "%.0fe%d", digits, exponent);
		digits = strtod(text, NULL);
	}
	return v >> COMPACT_SIGN_BIT & 1 ? -digits : digits;
}

static double read_real(struct compact_reader *r, unsigned column, unsigned width, uint64_t *before)
{
	union stats_value v = {.u = 0};
	float narrow;

	switch (width) {
	case CW_BEFORE:
		v.u = *before;
		break;
	case CW_FOUR:
		read_bytes(r, column, &narrow, 4);
		v.f = (double)narrow;
		break;
	case CW_DECIMAL:
		read_bytes(r, column, &v, 5);
		v.f = compute_number(v.u);
		break;
	default:
		read_bytes(r, column, &v, 8);
	}
	*before = v.u;
	return v.f;
}

static union stats_value read_compact_integer(
	struct compact_reader *r, unsigned column, unsigned width, uint64_t *before, bool is_signed)
{
	union stats_value v = {.u = *before};
	uint32_t narrow;

	if (width == CW_FOUR) {
		read_bytes(r, column, &narrow, 4);
		v.i = is_signed ? (int32_t)narrow : (int64_t)narrow;
	} else if (width == CW_EIGHT) {
		read_bytes(r, column, &v, 8);
	} else if (width != CW_BEFORE) {
		r->bad = true;
	}
	*before = v.u;
	return v;
}

static void read_statistics(struct compact_reader *r, struct journal_tensor *t)
{
	const struct dtype_info *d = dtype_info(t->dtype);
	uint64_t(*before)[4] = r->before[t->io != IO_IN];
	unsigned char widths;

	read_bytes(r, CC_WIDTHS, &widths, 1);
	if (!compact_has_integers(d)) {
		t->stats.min.f = read_real(r, CC_MIN, widths & 3, &before[d->wide][0]);
		t->stats.max.f = read_real(r, CC_MAX, widths >> 2 & 3, &before[d->wide][1]);
	} else {
		uint64_t *value = before[COMPACT_INTEGERS];
		bool is_signed = d->cls == DTC_SIGNED;

		t->stats.min = read_compact_integer(r, CC_MIN, widths & 3, &value[0], is_signed);
		t->stats.max =
			read_compact_integer(r, CC_MAX, widths >> 2 & 3, &value[1], is_signed);
	}
	t->stats.mean = read_real(r, CC_MEAN, widths >> 4 & 3, &before[d->wide][2]);
	t->stats.norm = read_real(r, CC_NORM, widths >> 6, &before[d->wide][3]);
}

static int64_t read_optional(struct compact_reader *r, int64_t none)
{
	uint64_t v = read_compact_number(r, CC_ROW);

	return v ? compact_read_zigzag(v - 1) : none;
}

static void read_row_values(struct compact_reader *r, struct journal_tensor *t)
{
	unsigned char kind;

	read_bytes(r, CC_KIND, &kind, 1);
	t->stats = (struct stats){0};
	if (kind & CR_STATISTICS)
		read_statistics(r, t);
	t->stats.zeros = kind & CR_ZEROS ? read_compact_number(r, CC_ROW) : 0;
	t->stats.nans = kind & CR_NANS ? read_compact_number(r, CC_ROW) : 0;
	t->stats.infs = kind & CR_INFS ? read_compact_number(r, CC_ROW) : 0;
	t->stats.n = kind & CR_COMPONENTS ? read_compact_number(r, CC_ROW)
					  : compact_compute_components(t->dtype, t->count);
	if (!(kind & CR_STATISTICS))
		t->stats.n = 0;
	t->crc = 0;
	if (kind & CR_CHECKSUM)
		read_bytes(r, CC_ROW, &t->crc, 4);
	t->flags =
		(uint8_t)((kind & CR_NOSTATS ? TF_NOSTATS : 0) | (kind & CR_CHECKSUM ? TF_CRC : 0));
	t->comm_seq = JOURNAL_NONE64;
	t->peer = t->tag = JOURNAL_NONE;
	if (kind & CR_OWN) {
		t->comm_seq = read_optional(r, JOURNAL_NONE64);
		t->peer = (int32_t)read_optional(r, JOURNAL_NONE);
		t->tag = (int32_t)read_optional(r, JOURNAL_NONE);
	}
}

/* What the call has that was not to be expected. */
static void read_rare(struct compact_reader *r, struct function *f, struct comm *comm)
{
	struct journal_call *c = &r->call.c;
	uint64_t present = read_compact_number(r, CC_PRESENT), issue;

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
		c->end = c->start + issue;
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

static void read_call(struct compact_reader *r, struct record *record)
{
	struct journal_call *c = &r->call.c;
	const struct site *site;
	struct function *f;
	struct comm *comm;
	uint32_t number = read_entry(r, CC_SITE, r->nsite);

	if (r->bad)
		return;
	site = &r->site[number];
	f = &r->function[site->function];
	comm = &r->comm[f->comm];
	r->seq += (uint64_t)read_signed(r, CC_SEQ) + 1;
	r->start += (uint64_t)read_signed(r, CC_START);
	*c = (struct journal_call){.e.bytes = sizeof(*c),
		.seq = r->seq,
		.start = r->start,
		.comm = comm->id,
		.comm_rank = comm->rank,
		.comm_size = comm->size,
		.root = f->root,
		.flags = f->flags,
		.stack = site->stack,
		.tid = f->thread,
		.api = f->number,
		.redop = f->redop,
		.phase = f->phase};
	r->end = (struct journal_end){
		.comm_seq = JOURNAL_NONE64, .peer = JOURNAL_NONE, .tag = JOURNAL_NONE};
	read_rare(r, f, comm);
	record->open = f->flags & CF_OPEN;
	if (!record->open)
		r->end.end = r->start + read_compact_number(r, CC_DURATION);
	record->end = record->open ? NULL : &r->end;
	record->api = f->api;
	record->n = site->n;
	for (unsigned i = 0; i < site->n; i++) {
		const struct tensor *t = &r->tensor[r->site_tensor[site->first + i]];

		memcpy(&r->row[i], t->t, journal_tensor_bytes(t->t->ndim));
		read_row_values(r, &r->row[i].t);
		r->row_tensor[i] = &r->row[i].t;
		r->row_name[i] = t->name;
	}
}

int compact_read_call(
	struct compact_reader *r, struct source *s, const char **text, size_t *n, unsigned *rows)
{
	struct clock_base clock = {.ns_per_tick = 1};
	struct record record = {
		.clock = &clock, .call = &r->call.c, .tensor = r->row_tensor, .name = r->row_name};
	size_t room;

	for (;;) {
		int got = r->left ? 1 : read_compact_block(r, s);

		if (got <= 0)
			return got;
		r->left--;
		read_call(r, &record);
		if (r->bad) {
			s->damaged += 1 + r->left;
			r->left = 0;
			r->known = false;
			continue;
		}
		if (!r->skips)
			break;
	}
	/* The call's own start is the clock's anchor: all 64 bits of it count. */
	clock.tick = clock.real_ns = r->call.c.start;
	*rows = record.n ? record.n : 1;
	room = *rows * (size_t)ROW_MAX;
	if (room > r->cap_rows) {
		r->rows = tool_realloc(r->rows, room);
		r->cap_rows = room;
	}
	*n = rows_format(r->rows, &record, r->call.c.api == APIS_MAX ? NULL : r->memory);
	*text = r->rows;
	return 1;
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

/* The last block before that byte with which dictionaries begin: from there on all is read, and shown from the byte on. */
static void find_start(void *state, struct source *s, uint64_t offset)
{
	struct compact_reader *r = state;
	uint64_t first = s->at, at = s->at;
	unsigned char head[COMPACT_HEAD];

	if (r->left || at)
		return; /* it was begun */
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

const struct source_decoder compact_decoder = {
	.open = open_decoder,
	.read = read_decoded,
	.skip = find_start,
	.close = close_decoder,
};
