/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes groups of calls to the function that handles them next, in the same thread or in a
 * separate one, always in order.
 *
 * Lock: `lock` of struct relay guards the numbers of its groups, and is a leaf. A group belongs to
 * the thread that fills it until relay_pass(), then to the thread that handles it.
 */
#ifndef PROBE_TOOLS_PROBE_REPORT_RELAY_H
#define PROBE_TOOLS_PROBE_REPORT_RELAY_H

#include "tools/probe/model/read/calls.h"

#define RELAY_CALLS 64u /* maximum number of calls in a group */

struct relay;

typedef void relay_fn(void *arg, const struct call *c, unsigned n);

/*
 * Starts a relay. threaded: use a separate thread. If the system cannot create one, the calls are
 * handled in the caller's thread.
 */
struct relay *relay_begin(relay_fn *fn, void *arg, bool threaded);

/*
 * Returns memory for the next RELAY_CALLS calls, valid until relay_pass(). Waits if the other
 * thread has too many calls to handle.
 */
struct call *relay_get_space(struct relay *r);
/* Passes on the first n calls of that memory. */
void relay_pass(struct relay *r, unsigned n);

/* Waits until all passed calls are handled, then frees r. */
void relay_end(struct relay *r);

#endif
