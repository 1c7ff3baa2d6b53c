/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of an operation that continues after its call has returned: its communicator, and copies of the arrays that
 * describe its segments. The program may free those arrays at once (mpi4py 3.1 does), because libraries have copies
 * too.
 */
#ifndef PROBE_CALL_KEEP_H
#define PROBE_CALL_KEEP_H

#include <stdbool.h>

#include "call/call.h"

/* Limit for all pending calls. Above it, outputs of a new call are not measured (flag nostats). */
#define KEPT_BYTES_MAX (64u << 20)

struct kept_arrays;

/*
 * Copies the arrays of w's buffers, for kept_use(). Returns NULL if w has none, or the limit is
 * reached (reported).
 */
struct kept_arrays *kept_make(const struct operation *w);

/*
 * Lets the buffers of w, itself a copy, refer to the arrays in k. k NULL: buffers that need
 * arrays are not measured.
 */
void kept_use(struct operation *w, struct kept_arrays *k);

void kept_free(struct kept_arrays *k);

/* Calls kept_make() and kept_use() for `copy`, and holds its communicator. */
void operation_keep(struct operation *copy);

/*
 * Like operation_keep(), but copies everything that the description refers to: the buffers in
 * all_in and all_out, their sizes and strides, and, of each output in host memory that is already
 * allocated and has no snapshot, the elements, up to KEPT_VALUES_MAX bytes. Other outputs without
 * a snapshot are not measured. Returns false if there is no memory (reported); then nothing is
 * kept.
 */
/* Limit for the elements of one buffer, gaps between them included. */
#define KEPT_VALUES_MAX ((size_t)1 << 20)

bool operation_keep_whole(struct operation *copy);

/*
 * Undoes operation_keep() or operation_keep_whole() for a copy that is no longer used, or for one
 * taken out of the table of pending calls.
 */
void operation_release(struct operation *w);

/* For a forked child that records again: the pending calls are its parent's. */
void kept_reset(void);

#endif
