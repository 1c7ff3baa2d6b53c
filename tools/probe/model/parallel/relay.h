/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes calls in groups to the function that handles them next, in the same thread or in a separate one, always in the order in which they
 * were passed.
 *
 * Lock: `lock` of struct relay guards the numbers of its groups, and is a leaf. A group belongs to the thread that fills it until it is
 * passed, then to the thread that handles it.
 */
#ifndef PROBE_TOOLS_PROBE_REPORT_RELAY_H
#define PROBE_TOOLS_PROBE_REPORT_RELAY_H

#include "tools/probe/model/read/calls.h"

#define RELAY_CALLS 64u /* of a group */

struct relay;

typedef void relay_fn(void *arg, const struct call *c, unsigned n);

/* threaded: use a separate thread; if the system gives none, works without. */
struct relay *relay_begin(relay_fn *fn, void *arg, bool threaded);

/* Room for the next RELAY_CALLS calls, until relay_pass(). Waits if the other thread lags far. */
struct call *relay_room(struct relay *r);
/* Passes the first n calls that were put there. */
void relay_pass(struct relay *r, unsigned n);

/* Returns when everything that was passed is handled. */
void relay_end(struct relay *r);

#endif
