/* SPDX-License-Identifier: Apache-2.0 */
/* A parallel loop. */
#ifndef PROBE_TOOLS_LIB_EACH_H
#define PROBE_TOOLS_LIB_EACH_H

/*
 * Calls fn(arg, i) once for each i below n, in this many threads, including this one (0, 1: only this one); fewer if the system gives no
 * more. The order and the thread of each call are unspecified. Returns when all are done.
 */
void do_for_each(unsigned n, unsigned threads, void (*fn)(void *arg, unsigned i), void *arg);

#endif
