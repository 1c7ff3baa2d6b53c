/* SPDX-License-Identifier: Apache-2.0 */
/* The same for each of many things, by several threads. */
#ifndef PROBE_TOOLS_LIB_EACH_H
#define PROBE_TOOLS_LIB_EACH_H

/*
 * Calls fn(arg, i) once for each i below n, by so many threads, this one among them (0, 1: by this one alone); fewer where the system
 * gives no more. Which thread takes which i, and when, is not known. Returns when all are done.
 */
void do_for_each(unsigned n, unsigned threads, void (*fn)(void *arg, unsigned i), void *arg);

#endif
