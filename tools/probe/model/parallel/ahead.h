/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that read the ranks' files ahead of who joins their calls: each rank has two batches of calls, one that is taken from
 * and one that is filled meanwhile. Batches are filled in the order in which the ones before them were begun; whoever needs one that no
 * thread has begun fills it himself, and while another thread fills it the next one in the queue. The calls and their order are those of
 * `next`; a bad row that it met on its way to a call comes before that call.
 *
 * Lock: `lock` of struct ahead guards the queue and the state of the batches and is held for nothing else. A batch belongs to the
 * thread that fills it, then to the one that takes from it.
 */
#ifndef PROBE_TOOLS_PROBE_REPORT_AHEAD_H
#define PROBE_TOOLS_PROBE_REPORT_AHEAD_H

#include "tools/probe/model/read/calls.h"

struct ahead;

/* The next call of that rank; one thread at a time for each of them. false: no more. */
typedef bool ahead_fn(void *arg, uint32_t rank, struct call *out);

/*
 * reader: of each rank, opened, with their `rank` as index here, all with the same `bad`, which only the caller's thread calls; the
 * threads' until ahead_end(), which read from them by `next`. threads: besides the caller; fewer where the system gives no more, none
 * is enough.
 */
struct ahead *ahead_begin(
	struct calls *const *reader, unsigned n, ahead_fn *next, void *arg, unsigned threads);

/* The next call of that rank; the rows of it with bad values go to the readers' `bad` before. false: no more. */
bool ahead_next(struct ahead *a, uint32_t rank, struct call *out);

/* Bytes of the rank's files behind the calls that were taken. */
uint64_t ahead_done(const struct ahead *a, uint32_t rank);

/* Ends the threads, in the middle of the files too. */
void ahead_end(struct ahead *a);

#endif
