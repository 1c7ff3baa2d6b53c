/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds in which a rank's calls repeat (tools/lib/period.h), for runs that mark no steps. */
#ifndef PROBE_TOOLS_PROBE_JOIN_ROUNDS_H
#define PROBE_TOOLS_PROBE_JOIN_ROUNDS_H

#include <stdbool.h>

#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/overlay.h"
#include "tools/probe/model/read/round_ends.h"

#define ROUNDS_SURE 0.5 /* minimum confidence of a period that is used */

struct rounds {
	struct round_end *end; /* ascending; the caller frees it */
	unsigned n, cap;
	uint32_t length; /* calls in a round; 0 if no period was found */
	double confidence; /* 0..1 */
};

/* Finds the rounds in all calls of rank d. o: the additional rows of its journal, or NULL. */
void find_rounds(struct rounds *r, const struct rank_dir *d, const struct overlay *o);

/* How number_by_rounds() and number_by_peers() read the run. */
struct numbering {
	/*
	 * Limit for the size of the calls files, in bytes. A larger run is not searched, because
	 * this needs a second pass over the files.
	 */
	uint64_t most;
	unsigned threads; /* threads that read; 0 and 1: one */
	/*
	 * By folder: number this rank; NULL: all ranks. A subset gets the same rounds as all ranks
	 * together.
	 */
	const bool *want;
	bool longer; /* output: the calls also repeat in longer rounds */
};

/*
 * Fills in dir[i].round of all ranks, so that their calls get common step numbers. A step ends with
 * an operation on a communicator of all ranks: the last one among the call sites with the most
 * common number of calls. If that gives no answer, the last such operation in each period of the
 * calls. Later calls still belong to the step, until a call site that begins a step.
 * If these rounds belong to an inner loop, also fills in dir[i].longer. overlay[i]: the additional
 * rows of the rank's journal, or NULL. Returns false, with nothing filled in, if there is no such
 * operation or the run is too large.
 */
bool number_by_rounds(
	struct folders *f, const struct overlay *const *overlay, struct numbering *how);

#endif
