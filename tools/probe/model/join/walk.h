/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of several ranks in the order of their starts, for output call by call. A rank's files have its calls in the order
 * in which they ended; enough of them are read ahead that nearly all are returned in order.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_WALK_H
#define PROBE_TOOLS_PROBE_JOIN_WALK_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/join/clock_fix.h"

/* Statistics of one tensor; numbers that a row does not have are NaN. */
struct walk_stats {
	double min, max, mean, norm;
	uint64_t nans, infs;
	bool known;
};

struct walk_call {
	struct call call;
	uint64_t start; /* ns of the Unix epoch, by the corrected clock of the rank */
	uint64_t in_count, out_count; /* elements of all its tensors */
	uint32_t in_rows, out_rows;
	uint32_t in_dtype, out_dtype, phase; /* interned */
	int64_t source, source_seq,
		source_tag; /* of a send_recv: the tag in its `out` row; else NO_NUMBER */
	struct walk_stats in, out; /* of its first tensors */
	bool has_shape;
	char shape[32]; /* of its first tensor */
};

struct walk_reader;

struct walk {
	struct walk_reader *reader;
	struct walk_reader **heap;
	unsigned nreader, nheap, ahead;
	uint64_t bytes, done; /* of the files */
	uint64_t damaged;
	struct walk_call now;
};

/*
 * Opens the folders f->dir[i] for which want[i] is set (NULL: all). overlay[i]: NULL, or the additional rows of the journal.
 * skew[i]: ns to add to its clock (NULL: none). The caller keeps f.
 */
void walk_open(struct walk *w, const struct folders *f, const bool *want,
	const struct overlay *const *overlay, const struct clock_fix *skew, uint64_t step_lo,
	uint64_t step_hi);
/*
 * Opens the calls of one rank, d, without data that only its rows have (shape, statistics, dtypes, counts of all tensors),
 * which takes longer to read.
 */
void walk_calls_of_rank(struct walk *w, const struct rank_dir *d, const struct overlay *o);
void walk_close(struct walk *w);

/* The next call, valid until the next call of this function; NULL: no more. */
const struct walk_call *walk_next(struct walk *w);

/* Bytes that were read so far. */
uint64_t walk_done(const struct walk *w);

#endif
