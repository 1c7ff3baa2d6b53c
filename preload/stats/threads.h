/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper threads for large tensors (key stats_threads): off unless started.
 *
 * A run of elements that lie in one piece, of min_bytes or more, is cut into the same blocks as without helpers
 * (kernel.h); helpers and the calling thread take chunks of blocks in turn, and the calling thread combines their
 * results in the order of the elements. So the figures do not depend, to the last bit, on how many helpers there are,
 * or which one measured what.
 *
 * The calling thread waits for nothing but chunks that a helper has begun (a few microseconds each); when no helper
 * comes it measures all of them itself. One thread of the job has the helpers at a time: others that come meanwhile
 * measure alone. Nothing is allocated and no lock is held; to wake the helpers costs one system call in each round of
 * 512 chunks, 64 MiB of float32.
 */
#ifndef PROBE_STATS_THREADS_H
#define PROBE_STATS_THREADS_H

#include <stdint.h>

#include "base/cores.h"

#define STATS_THREADS_MAX 16

/*
 * Starts n helpers, for runs of at least min_bytes, that may run on the cores in *where (NULL: on those of the calling
 * thread). Allocates. Returns how many could be started, or -errno if none.
 *
 * They block every signal but SIGSEGV and SIGBUS: where reading the tensor raises one of these the job's handler is
 * to have it, as if the calling thread had read it, and a blocked one would end the process. (Rights by memory
 * protection keys are a thread's own: helpers have those of the thread that starts them.)
 */
int stats_threads_start(unsigned n, uint64_t min_bytes, const struct cores *where);

/* They end when they have measured what they began. Waits for nothing. */
void stats_threads_stop(void);

/* In a forked child, which has none of them: tensors are measured by the calling thread until they are started again. */
void stats_threads_forked(void);

#endif
