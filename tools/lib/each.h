/* SPDX-License-Identifier: Apache-2.0 */
/* A parallel loop. */
#ifndef PROBE_TOOLS_LIB_EACH_H
#define PROBE_TOOLS_LIB_EACH_H

/*
 * Calls fn(arg, i) once for each i below n, in `threads` threads including the caller's (0 and 1:
 * only the caller's). If the system creates fewer threads, these do all the work. The order of the
 * calls is unspecified. Returns when all have returned.
 */
void handle_each_in_threads(
	unsigned n, unsigned threads, void (*fn)(void *arg, unsigned i), void *arg);

#endif
