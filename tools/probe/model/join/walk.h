/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Returns the calls of several ranks in the order of their starts, for output call by call. A
 * rank's files list its calls in the order of their ends, so some calls are read ahead. Nearly all
 * are returned in order.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_WALK_H
#define PROBE_TOOLS_PROBE_JOIN_WALK_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/join/clock_fix.h"

/* Statistics of one tensor. A number that the row does not have is NaN. */
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
	/*
	 * source_tag: for a send_recv, the tag in its `out` row. All three are NO_NUMBER for other
	 * calls.
	 */
	int64_t source, source_seq, source_tag;
	struct walk_stats in, out; /* of its first input and its first output tensor */
	bool has_shape;
	char shape[32]; /* shape of its first tensor */
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
 * Opens the folders f->dir[i] for which want[i] is set; want NULL: all. overlay[i]: the additional
 * rows of the rank's journal, or NULL. skew[i]: the correction of its clock; skew NULL: none. f
 * must stay valid until walk_close().
 */
void walk_open(struct walk *w, const struct folders *f, const bool *want,
	const struct overlay *const *overlay, const struct clock_fix *skew, uint64_t step_lo,
	uint64_t step_hi);
/*
 * Opens the calls of rank d alone. The calls lack the data that takes longer to read: shape,
 * statistics, dtypes, counts of all tensors. o: the additional rows of the rank's journal, or NULL.
 */
void walk_calls_of_rank(struct walk *w, const struct rank_dir *d, const struct overlay *o);
void walk_close(struct walk *w);

/*
 * Returns the next call, or NULL after the last one. The result is valid until the next call of
 * this function.
 */
const struct walk_call *walk_next(struct walk *w);

/* Returns the number of bytes read so far. */
uint64_t walk_done(const struct walk *w);

#endif
