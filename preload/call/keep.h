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

#define KEPT_BYTES_MAX \
	(64u << 20) /* limit for all pending calls; outputs of further ones are not measured (flag nostats) */

struct kept_arrays;

/* Copies its arrays, for kept_use(). NULL: it has none, or there is no room (reported). */
struct kept_arrays *kept_make(const struct operation *w);

/* Makes `w`, a copy of that operation, refer to them. k NULL: buffers that would need them are not measured. */
void kept_use(struct operation *w, struct kept_arrays *k);

void kept_free(struct kept_arrays *k);

/* Does both, and holds the communicator. */
void operation_keep(struct operation *copy);

/*
 * The same, with copies of everything that the description refers to: buffers elsewhere (all_in, all_out), their sizes and
 * strides, and the elements of existing outputs (buffer.host, no shot) up to KEPT_VALUES_MAX. Other outputs without a shot are
 * not measured. False: there is no room (reported), and nothing is kept.
 */
/* size of one buffer, gaps between its elements included */
#define KEPT_VALUES_MAX ((size_t)1 << 20)

bool operation_keep_whole(struct operation *copy);

/*
 * Undoes operation_keep(), for such a copy, or for one taken out of the table of pending calls, that is not used any
 * more.
 */
void operation_release(struct operation *w);

/* For a forked child that records again: the pending calls are its parent's. */
void kept_reset(void);

#endif
