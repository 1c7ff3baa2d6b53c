/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operation keeps that goes on after its call has returned: its communicator, and copies of the arrays that say where
 * its segments lie. The program may free those as soon as the call is back (mpi4py 3.1 does): libraries have copies, too.
 */
#ifndef PROBE_CALL_KEEP_H
#define PROBE_CALL_KEEP_H

#include <stdbool.h>

#include "call/call.h"

#define KEPT_BYTES_MAX \
	(64u << 20) /* of all calls under way; outputs of further ones are not measured, flag nostats */

struct kept_arrays;

/* Copies of its arrays, to be given to kept_use(). NULL: it has none, or there is no room (reported). */
struct kept_arrays *kept_make(const struct operation *w);

/* `w`, a copy of that operation, refers to them from now on. NULL: what would need them is not measured. */
void kept_use(struct operation *w, struct kept_arrays *k);

void kept_free(struct kept_arrays *k);

/* Both, and holds the communicator. */
void operation_keep(struct operation *copy);

/*
 * The same, and copies of all else that the description refers to: buffers that lie elsewhere (all_in, all_out), their sizes and
 * strides, and the elements of outputs that are there already (buffer.host, no shot) up to KEPT_VALUES_MAX; other outputs without a
 * shot are not measured. False: there is no room (reported), and nothing is kept.
 */
#define KEPT_VALUES_MAX ((size_t)1 << 20) /* of one buffer, with what lies between its elements */

bool operation_keep_whole(struct operation *copy);

/* Undoes operation_keep(): such a copy, or one that came out of the table of pending calls, is not used any more. */
void operation_release(struct operation *w);

/* In a forked child that records again: what its parent has under way is not its own. */
void kept_reset(void);

#endif
