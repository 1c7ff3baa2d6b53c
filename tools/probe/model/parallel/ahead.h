/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that read the ranks' files ahead of the thread that joins their calls. Each rank has two batches of calls: one is
 * consumed while the other is filled. Batches are filled in the order in which consumption of their predecessors began. A
 * thread that needs a batch that no thread has begun fills it itself; while another thread fills that batch, it fills the next
 * one in the queue. The calls and their order are those of `next`; a bad row read before a call is passed on before that call.
 *
 * Lock: `lock` of struct ahead guards the queue and the state of the batches, and nothing else. A batch belongs to the thread
 * that fills it, then to the one that consumes it.
 */
#ifndef PROBE_TOOLS_PROBE_REPORT_AHEAD_H
#define PROBE_TOOLS_PROBE_REPORT_AHEAD_H

#include "tools/probe/model/read/calls.h"

struct ahead;

/* Returns the next call of that rank; one thread at a time for each of them. false: no more. */
typedef bool ahead_fn(void *arg, uint32_t rank, struct call *out);

/*
 * reader: of each rank, opened, with `rank` equal to its index here, all with the same `bad`, which only the caller's thread
 * calls. Until ahead_end() they belong to the threads, which read from them with `next`. threads: in addition to the caller;
 * the system may give fewer, even none.
 */
struct ahead *ahead_begin(
	struct calls *const *reader, unsigned n, ahead_fn *next, void *arg, unsigned threads);

/* Returns the next call of that rank; its rows with bad values are passed to the readers' `bad` first. false: no more. */
bool ahead_next(struct ahead *a, uint32_t rank, struct call *out);

/* Position in the rank's files, in bytes, after the calls that were returned. */
uint64_t ahead_done(const struct ahead *a, uint32_t rank);

/* Ends the threads, even in the middle of the files. */
void ahead_end(struct ahead *a);

#endif
