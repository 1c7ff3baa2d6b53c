/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys slice and request_id: a row describes only a part of a tensor. The parts are those of msprobe 26.2: the words of
 * key slice in their order, then the tokens of the request in dimension 0. A later word for the same dimension replaces
 * an earlier one; a dimension that the tensor does not have, or of another size than the word's, stays whole.
 *
 * Tensors of communicating calls stay whole: their rows are compared across ranks.
 */
#ifndef PROBE_CALL_DATA_SLICE_H
#define PROBE_CALL_DATA_SLICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "call/data/slicing.h"
#include "call/data/view.h"

struct config;
struct operation;

#define SLICE_DIMS_MAX 16 /* a tensor with more dimensions stays whole */

/* The part of a batch that belongs to the request of key request_id. */
enum request_state {
	REQUEST_UNKNOWN, /* the job has not said anything yet: tensors are recorded whole */
	REQUEST_ABSENT, /* not in the batch: operators are not recorded */
	REQUEST_PART
};

/* A part of a tensor, as a buffer of its own. */
struct buffer_part {
	struct buffer buffer;
	int64_t size[SLICE_DIMS_MAX]; /* buffer.counts */
};

/* Not 0 while any tensor may be sliced. */
extern _Atomic unsigned slicing_is_on __attribute__((visibility("hidden")));

/* Reads key slice. Returns 0, or -ENOMEM: then nothing is sliced by it (reported). */
int slice_load(const struct config *cfg);

struct slicing slicing_read(void);

/* Returns what applies to a call that begins now. */
static inline struct slicing slicing_get(void)
{
	return __builtin_expect(atomic_load_explicit(&slicing_is_on, memory_order_relaxed), 0)
		       ? slicing_read()
		       : (struct slicing){0};
}

static inline bool is_sliced(const struct slicing *s)
{
	return ((uintptr_t)s->table | s->request) != 0;
}

/*
 * Sets the part of dimension 0, of `total` elements, that belongs to the request. Called by the adapter that reads the
 * job's batches. Returns false if the numbers are too large (2^20 and more): then tensors are recorded whole.
 */
bool slice_set_request(uint64_t total, uint64_t begin, uint64_t end);
void slice_set_request_state(enum request_state state); /* REQUEST_UNKNOWN or REQUEST_ABSENT */

/* True if the job's present batch does not contain the request. */
bool slice_is_request_absent(void);

/*
 * Returns the part of v that the row of call w describes: v itself if it is described whole, else
 * part->buffer, which refers to v's strides and to part->size.
 */
const struct buffer *slice_get_part(
	const struct operation *w, const struct buffer *v, struct buffer_part *part);

#endif
