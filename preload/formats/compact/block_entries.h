/* SPDX-License-Identifier: Apache-2.0 */
/* A block that is being written (block.h), and the entries of its dictionaries. Included by the files of this room alone. */
#ifndef PROBE_FORMATS_COMPACT_BLOCK_ENTRIES_H
#define PROBE_FORMATS_COMPACT_BLOCK_ENTRIES_H

#include "formats/compact/block.h"
#include "formats/compact/column_number.h"
#include "formats/compact/compact_layout.h"
#include "formats/compact/dictionary.h"
#include "sink/call_site.h"
#include "sink/calls_csv.h"

/* Index: number of the function's entry in the dictionary. */
struct function_state {
	uint32_t comm;
	int32_t peer, tag; /* those of the function's last call */
};

struct comm_state {
	int64_t next; /* the comm_seq that is expected next, JOURNAL_NONE64: none */
};

struct site_state {
	uint32_t function, stack, n;
	uint32_t first; /* index of its first tensor in site_tensor */
	uint32_t next; /* the site that came after its last call */
};

/* The last row with an input, or an output, if nothing but its four numbers may differ in the next one. */
struct row_state {
	uint32_t tensor; /* number in the dictionary; UINT32_MAX: it had other parts */
	bool wide;
	uint64_t components;
	uint64_t *
		before; /* min, max, mean and norm of the entry before, as bits: those of this entry are stored as differences */
};

/* The values of a call site (sink/call_site.h) that this block has already stored, by the site's slot. */
struct known_site {
	uint64_t serial; /* of the site; 0: none */
	uint32_t dictionaries; /* valid for these, see compact_block */
	uint32_t site, function, comm; /* numbers in the dictionaries */
	/* if nothing but four real numbers may be in a row: their values in the previous row */
	uint64_t *before[CALL_SITE_TENSORS]; /* NULL: write_any_row() */
	bool wide[CALL_SITE_TENSORS];
};

struct compact_block {
	struct column column[COMPACT_COLUMNS];
	struct dictionary texts, comms, functions, tensors, sites;
	struct function_state *function;
	struct comm_state *comm;
	struct site_state *site;
	uint32_t *site_tensor;
	uint32_t cap_function, cap_comm, cap_site, cap_site_tensor, nsite_tensor;
	uint32_t last_site;
	uint32_t calls, rows;
	bool first; /* dictionaries begin with this block */
	/* Values of the previous call. */
	uint64_t seq, start;
	uint32_t step, micro_step;
	uint64_t before[2][COMPACT_LANES]
		       [4]; /* values of previous rows, by enum tensor_io, lane, column */
	struct row_state row[2]; /* by enum tensor_io */
	struct known_site *known; /* CALL_SITES of them */
	uint32_t dictionaries; /* how often they were emptied */
};

#define FUNCTION_WORDS 4
#define UNKNOWN_API (UINT64_C(1) << 63)

/* Returns the word of a tensor's key that contains everything except the number of elements. */
static inline uint64_t compute_type_word(const struct journal_tensor *t, uint64_t text)
{
	return t->index | (uint64_t)t->dtype << 16 | (uint64_t)t->io << 24 |
	       (uint64_t)(t->ndim > ROW_DIMS_MAX ? 255 : t->ndim) << 25 | text << 33;
}

/*
 * Each returns the number of the entry, which is added if the dictionary does not have it, or
 * -ENOBUFS if the block is full, or -ENOMEM.
 */
int64_t find_block_function(struct compact_block *b, const struct record *r, uint32_t flags,
	const uint64_t key[FUNCTION_WORDS]);
int64_t find_block_site(struct compact_block *b, uint32_t function, const struct record *r);

#endif
