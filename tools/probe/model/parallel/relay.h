/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls handed on in groups to what is done with them next, in the same thread or in one of its own, always in the order in which they
 * were passed.
 *
 * Lock: `lock` of struct relay guards the numbers of its groups, and is a leaf. A group belongs to who fills it until it is passed, then
 * to the thread that takes it.
 */
#ifndef PROBE_TOOLS_PROBE_REPORT_RELAY_H
#define PROBE_TOOLS_PROBE_REPORT_RELAY_H

#include "tools/probe/model/read/calls.h"

#define RELAY_CALLS 64u /* of a group */

struct relay;

typedef void relay_fn(void *arg, const struct call *c, unsigned n);

/* threaded: a thread of its own is wanted; where the system gives none it is done without. */
struct relay *relay_begin(relay_fn *fn, void *arg, bool threaded);

/* Room for the next RELAY_CALLS calls, until relay_pass(). Waits where the other thread is far behind. */
struct call *relay_room(struct relay *r);
/* The first n calls that were put there. */
void relay_pass(struct relay *r, unsigned n);

/* Returns when all that was passed is done. */
void relay_end(struct relay *r);

#endif
