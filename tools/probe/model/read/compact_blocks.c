/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block is read as a whole and checked, including its dictionaries. The file may contain
 * anything, so every number is compared with the available space.
 */
#include <stdlib.h>
#include <string.h>

#include "stats/stats.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/compact_reader.h"

void reset_dictionaries(struct compact_reader *r)
{
	for (unsigned i = 0; i < r->ntext; i++)
		free(r->text[i]);
	for (unsigned i = 0; i < r->ntensor; i++)
		free(r->tensor[i].t);
	r->ntext = r->ncomm = r->nfunction = r->ntensor = r->nsite = r->nsite_tensor = r->napi = 0;
	row_memory_free(r->memory);
	r->memory = NULL;
}

uint64_t read_long_number(struct compact_reader *r, unsigned column)
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

/* rows_format() identifies an api by its number. */
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

/* Reads exactly n bytes. Returns 1, 0 if the file ends before them, or -errno. */
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

		/* Columns of a later version follow the known ones. */
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

int read_compact_block(struct compact_reader *r, struct source *s)
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
			s->at = s->limit; /* the start of the next block is not known */
			return 0;
		}
		if (bytes > r->cap_block) {
			r->block = tool_realloc(r->block, bytes + BLOCK_SLACK);
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
			 stats_checksum_of(CHECKSUM_CRC32, r->block + COMPACT_SUM_FROM,
				 bytes - COMPACT_SUM_FROM);
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
		/*
		 * Without this block, the next ones have no meaning, up to the first one that
		 * begins with dictionaries.
		 */
		s->damaged += r->left < COMPACT_CALLS_MAX ? r->left : COMPACT_CALLS_MAX;
		r->left = 0;
		r->known = false;
	}
}
