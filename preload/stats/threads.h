/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper threads for large tensors (key stats_threads): off unless started.
 *
 * A contiguous run of min_bytes or more is cut into the same blocks as without helpers (kernel.h). Helpers and the
 * calling thread take chunks of blocks, and the calling thread combines the results in the order of the elements. So
 * the results do not depend, to the last bit, on the number of helpers or on which of them measured a chunk.
 *
 * The calling thread waits only for chunks that a helper has begun (a few microseconds each); if no helper comes it
 * measures all of them itself. One thread of the job has the helpers at a time; others measure alone meanwhile. Nothing
 * is allocated and no lock is held. Waking the helpers costs one system call in each round of 512 chunks, 64 MiB of
 * float32.
 */
#ifndef PROBE_STATS_THREADS_H
#define PROBE_STATS_THREADS_H

#include <stdint.h>

#include "base/cores.h"

#define STATS_THREADS_MAX 16

/*
 * Starts n helpers, for runs of at least min_bytes, on the cores in *where (NULL: those of the
 * calling thread). Allocates. Returns the number started, or -errno if none.
 *
 * Helpers block every signal except SIGSEGV and SIGBUS. If reading the tensor raises one of
 * these, the job's handler must get it, as if the calling thread had read the tensor; if it were
 * blocked, the process would end. (Rights by memory protection keys belong to a thread: helpers
 * have those of the thread that starts them.)
 */
int stats_threads_start(unsigned n, uint64_t min_bytes, const struct cores *where);

/* Makes each helper end after the chunk that it has begun. Does not wait for them. */
void stats_threads_stop(void);

/* Call in a forked child, which has no helpers: the calling thread measures tensors until they are started again. */
void stats_threads_forked(void);

#endif
