/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the reader of compact files, shared by compact_blocks.c (reads blocks) and
 * compact_read.c (reads the calls in them).
 */
#ifndef PROBE_TOOLS_COMPACT_READER_H
#define PROBE_TOOLS_COMPACT_READER_H

#include "formats/compact/compact_layout.h"
#include "sink/calls_csv.h"
#include "sink/sink.h"
#include "tools/probe/model/read/compact_read.h"

#define APIS_MAX 60000 /* number of functions (apis) that rows_format() can distinguish */

/* ---- state of the file up to the current position ---- */

/* Entries of the file's dictionaries: communicator, function, tensor, site. */
struct comm {
	uint64_t id;
	int64_t next; /* comm_seq of the next call if none is missing */
	int32_t rank, size;
};

struct function {
	struct row_api api;
	uint32_t comm, thread, flags;
	int32_t root, peer, tag;
	uint16_t number; /* number of the api in `api` */
	uint8_t redop, phase;
};

struct tensor {
	struct journal_tensor *t; /* followed in memory by its dimensions */
	const char *name;
};

/*
 * The values that all calls of a site share, as in struct call: those of the function, its
 * communicator, the stack and the first tensor.
 */
struct site_form {
	uint32_t lib, api, op, redop, dtype, phase; /* interned */
	uint32_t bits, stack, thread;
	bool known;
	uint64_t comm, count;
	int64_t comm_rank, size, root;
};

struct site {
	uint32_t function, stack, n;
	uint32_t first; /* index of its first tensor in site_tensor */
	struct site_form form; /* from the site's first call */
};

/* A number of the previous row, as printed in the CSV text. */
struct lane {
	union stats_value v;
	bool telling; /* as in struct side; not known for 64-bit types that are not integers */
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
	bool known; /* the dictionaries are complete: no entry was missed */
	struct row_memory *memory;
	/* The block. */
	unsigned char *block;
	size_t cap_block;
	/* Blocks that begin before this byte are read only for the state that later blocks need. */
	uint64_t skip_to;
	bool skips;
	struct bytes column[COMPACT_COLUMNS];
	uint32_t left; /* calls of the block that are still to be read */
	/* A number was out of range for its column, or a dictionary entry did not exist. */
	bool bad;
	uint64_t seq, start;
	struct lane before[2][COMPACT_LANES][4];
	int64_t step;
	uint32_t micro_step;
	/* One call, and its text. */
	struct {
		struct journal_call c;
		struct journal_tensor awaited;
	} call;
	struct journal_end end;
	struct record record;
	struct clock_base clock;
	struct site *site_of_call;
	uint64_t present; /* enum compact_present */
	/*
	 * The rows of the call. Data that is not in `kind` is put into `row` at once, the rest when
	 * text is needed.
	 */
	const struct journal_tensor *kind[RECORD_TENSORS_MAX];
	bool telling[RECORD_TENSORS_MAX]; /* as in struct lane, for min or max */
	struct {
		struct journal_tensor t;
		uint64_t dim[ROW_DIMS_MAX];
	} row[RECORD_TENSORS_MAX];
	const struct journal_tensor *row_tensor[RECORD_TENSORS_MAX];
	const char *row_name[RECORD_TENSORS_MAX];
	char *rows;
	size_t cap_rows;
	/* State of the text source. */
	const char *out;
	size_t nout;
	bool begun;
};

/* ---- numbers ---- */

/* Reads a number that may be longer than eight bytes. */
uint64_t read_long_number(struct compact_reader *r, unsigned column);

/*
 * The last numbers of a block are read eight bytes at a time, so this many bytes after the block
 * must be readable.
 */
#define BLOCK_SLACK 8

static inline uint64_t read_compact_number(struct compact_reader *r, unsigned column)
{
	const uint64_t tops = UINT64_C(0x8080808080808080);
	struct bytes *c = &r->column[column];
	uint64_t v, last;
	unsigned n;

	memcpy(&v, c->at, sizeof(v));
	last = ~v & tops;
	if (__builtin_expect(!last, 0))
		return read_long_number(r, column);
	n = ((unsigned)__builtin_ctzll(last) >> 3) + 1;
	if (__builtin_expect((size_t)(c->end - c->at) < n, 0)) {
		r->bad = true;
		c->at = c->end;
		return 0;
	}
	c->at += n;
	/*
	 * Clears the bytes after the number and the top bit of each byte, then joins groups of two,
	 * four and eight bytes.
	 */
	v &= (last ^ (last - 1)) & ~tops;
	v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
	v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
}

static inline int64_t read_signed(struct compact_reader *r, unsigned column)
{
	return compact_read_zigzag(read_compact_number(r, column));
}

/* Reads the index of a dictionary entry, which must be less than n. */
static inline uint32_t read_entry(struct compact_reader *r, unsigned column, uint32_t n)
{
	uint64_t v = read_compact_number(r, column);

	if (v < n)
		return (uint32_t)v;
	r->bad = true;
	return 0;
}

static inline void read_bytes(struct compact_reader *r, unsigned column, void *to, size_t n)
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

/*
 * Reads the next valid block with calls. Returns 1, 0 after the last block, or -errno. Damaged
 * blocks are counted.
 */
int read_compact_block(struct compact_reader *r, struct source *s);
void reset_dictionaries(struct compact_reader *r);

#endif
