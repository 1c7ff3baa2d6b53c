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
 * Copies the arrays of w's buffers, for kept_set_arrays(). Returns NULL if w has none, or the limit is
 * reached (reported).
 */
struct kept_arrays *kept_copy_arrays(const struct operation *w);

/*
 * Makes the buffers of w, the copy of an operation, point to the arrays in k. If k is NULL, buffers
 * that need arrays are not measured.
 */
void kept_set_arrays(struct operation *w, struct kept_arrays *k);

void kept_free(struct kept_arrays *k);

/* Calls kept_copy_arrays() and kept_set_arrays() for `copy`, and holds its communicator. */
void operation_copy_arrays(struct operation *copy);

/*
 * Like operation_copy_arrays(), but copies everything that the description refers to: the buffers in
 * all_in and all_out, their sizes and strides, and, of each output in host memory that is already
 * allocated and has no snapshot, the elements, up to KEPT_VALUES_MAX bytes. Other outputs without
 * a snapshot are not measured. Returns false if there is no memory (reported); then nothing is
 * kept.
 */
/* Limit for the elements of one buffer, gaps between them included. */
#define KEPT_VALUES_MAX ((size_t)1 << 20)

bool operation_copy_all(struct operation *copy);

/*
 * Undoes operation_copy_arrays() or operation_copy_all() for a copy that is no longer used, or for one
 * taken out of the table of pending calls.
 */
void operation_free_copy(struct operation *w);

/* For a forked child that records again: the pending calls are its parent's. */
void kept_reset(void);

#endif
