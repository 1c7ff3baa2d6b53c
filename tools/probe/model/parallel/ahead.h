/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that read the ranks' files ahead of the thread that joins the calls. Each rank has two
 * batches of calls: one is consumed while the other is filled. The queue holds the batches to fill,
 * in the order in which the consumption of the previous batch began. If a thread needs a batch that
 * no thread fills, it fills the batch itself. If another thread is filling it, this thread fills
 * the next batch of the queue meanwhile. Calls and order are those of `next`. A bad row that was
 * read before a call is passed on before the call.
 *
 * Lock: `lock` of struct ahead guards the queue and the state of the batches, and nothing else. A
 * batch belongs to the thread that fills it, then to the thread that consumes it.
 */
#ifndef PROBE_TOOLS_PROBE_REPORT_AHEAD_H
#define PROBE_TOOLS_PROBE_REPORT_AHEAD_H

#include "tools/probe/model/read/calls.h"

struct ahead;

/*
 * Stores the next call of rank `rank` in *out. Called by one thread at a time for each rank.
 * Returns false after the last call.
 */
typedef bool ahead_fn(void *arg, uint32_t rank, struct call *out);

/*
 * Starts the threads. reader[i]: the opened reader of rank i, whose `rank` is i. All readers have
 * the same `bad`, which only the caller's thread calls. The threads own the readers until
 * ahead_end() and read from them with `next`. threads: number of threads in addition to the caller;
 * the system may create fewer, even none.
 */
struct ahead *ahead_begin(
	struct calls *const *reader, unsigned n, ahead_fn *next, void *arg, unsigned threads);

/*
 * Stores the next call of rank `rank` in *out. Bad rows before this call are first passed to the
 * reader's `bad`. Returns false after the last call.
 */
bool ahead_next(struct ahead *a, uint32_t rank, struct call *out);

/* Returns the position in the rank's files, in bytes, after the calls returned so far. */
uint64_t ahead_done(const struct ahead *a, uint32_t rank);

/* Stops the threads, even if calls are left. */
void ahead_end(struct ahead *a);

#endif
