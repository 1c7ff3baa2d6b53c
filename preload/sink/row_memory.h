/* SPDX-License-Identifier: Apache-2.0 */
/* Text of earlier rows, from which later ones are made. Included by calls_csv.c alone. */
#ifndef PROBE_SINK_ROW_MEMORY_H
#define PROBE_SINK_ROW_MEMORY_H

#include <stddef.h>
#include <string.h>

#include "sink/call_site.h"
#include "sink/calls_csv.h"
#include "text/write.h"

enum row_piece {
	PIECE_API, /* lib to comm */
	PIECE_COMM, /* rank to root */
	PIECE_THREAD,
	PIECE_FLAGS,
	PIECE_PHASE, /* parent, which is empty, and phase */
	ROW_PIECES
};

#define COPY_STEP 32 /* bytes; a copy may read and write up to this many additional bytes */
#define COPY_NUMBER 16
#define SITES 512u
#define SITE_TEXT 192
#define SITE_TAIL 64
#define STATISTICS_TEXT 96
#define SITE_WORDS 4
#define SITE_TENSORS 4
#define SHAPES 256u
#define SHAPE_TEXT 80
#define SHAPE_DIMS 4
#define SHAPE_WORDS (3 + SHAPE_DIMS)
#define COLUMNS_AFTER_TAG (COLUMNS - 1 - COL_tag)

/* The last number of a column; bytes 0: none yet. */
struct row_number {
	uint64_t value;
	unsigned bytes;
	char text[24];
};

struct row_site {
	uint64_t key[SITE_WORDS];
	uint8_t begin[ROW_PIECES], bytes[ROW_PIECES]; /* bytes[PIECE_API] 0: not in use */
	uint16_t shape[SITE_TENSORS]; /* of its last call: expected in the next one */
	uint32_t stack; /* of `tail` */
	uint8_t tail_bytes; /* 0: none yet */
	char tail[SITE_TAIL + COPY_STEP]; /* of its last plain row, from the thread on */
	char text[SITE_TEXT + COPY_STEP];
};

/* A tensor's columns from io to bytes. */
struct row_shape {
	uint64_t key[SHAPE_WORDS];
	uint8_t bytes; /* 0: not in use */
	char text[SHAPE_TEXT + COPY_STEP];
};

#define KNOWN_TEXT (SITE_TEXT + SITE_TAIL + CALL_SITE_TENSORS * SHAPE_TEXT)

/* The text that all rows of a call's site (call_site.h) have in common, in the order of the rows. */
struct site_rows {
	uint64_t serial; /* of the site; 0: none */
	uint64_t refused; /* serial of the last site whose text cannot be kept; 0: none */
	uint16_t api; /* bytes of lib to comm */
	uint16_t call; /* bytes of rank to peer */
	uint16_t tail; /* bytes from the thread on */
	uint16_t tensor[CALL_SITE_TENSORS]; /* bytes of io to bytes, which follow the tail */
	bool has_nine_digits[CALL_SITE_TENSORS]; /* its numbers are real ones of nine digits */
	char text[KNOWN_TEXT + COPY_STEP];
};

/* The statistics of the last row with an input, or an output. */
struct row_statistics {
	struct stats of;
	uint8_t bytes; /* 0: none yet */
	char text[STATISTICS_TEXT + COPY_STEP];
};

_Static_assert(sizeof(struct stats) == 64 &&
		       offsetof(struct stats, max) == offsetof(struct stats, min) + 8 &&
		       offsetof(struct stats, mean) == offsetof(struct stats, min) + 16 &&
		       offsetof(struct stats, norm) == offsetof(struct stats, min) + 24,
	"no gaps, and four numbers one after the other");

struct row_memory {
	struct row_statistics statistics[2]; /* by enum tensor_io */
	struct row_number step, seq, comm_seq; /* step: and micro_step, with their commas */
	uint64_t tenths; /* of a second, of start_ns: all digits but the last eight */
	char tenths_text[COPY_NUMBER];
	unsigned tenths_bytes;
	struct row_site site[SITES];
	struct row_shape shape[SHAPES];
	struct site_rows known[CALL_SITES]; /* by the slot of a call's site */
};

/* Copies n bytes in whole steps of COPY_STEP; both buffers have space for that. */
static inline char *copy_steps(char *p, const char *from, size_t n)
{
	char *end = p + n;

	memcpy(p, from, COPY_STEP);
	while (p += COPY_STEP, __builtin_expect(p < end, 0)) {
		from += COPY_STEP;
		memcpy(p, from, COPY_STEP);
	}
	return end;
}

static inline char *write_kept_number(char *p, struct row_number *last, uint64_t v)
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

/* Writes a number that is usually one larger than the last: nine times in ten only the last digit changes. */
static inline char *write_growing_number(char *p, struct row_number *last, uint64_t v)
{
	if (!last->bytes || v != last->value + 1 || last->text[last->bytes - 1] == '9')
		return write_kept_number(p, last, v);
	last->value = v;
	++last->text[last->bytes - 1];
	memcpy(p, last->text, COPY_NUMBER);
	return p + last->bytes;
}

/* Step and micro step. */
static inline char *write_step_columns(
	char *p, const struct journal_call *c, struct row_number *last)
{
	uint64_t both = c->step | (uint64_t)c->micro_step << 32;
	char *end;

	if (__builtin_expect(last->bytes && last->value == both, 1)) {
		memcpy(p, last->text, sizeof(last->text));
		return p + last->bytes;
	}
	end = write_char(write_u64(p, c->step), ',');
	if (c->micro_step != UINT32_MAX)
		end = write_u64(end, c->micro_step);
	end = write_char(end, ',');
	last->value = both;
	last->bytes = (unsigned)(end - p); /* 22 at most */
	memcpy(last->text, p, sizeof(last->text));
	return end;
}

/* In a time, all but the last eight digits are usually those of the row before. */
static inline char *write_start_time(char *p, struct row_memory *memory, uint64_t v)
{
	const uint64_t e8 = 100000000;
	uint64_t rest = v - memory->tenths * e8;

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

#endif
