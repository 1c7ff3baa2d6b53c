/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cores that a thread of libprobe may use without disturbing the job. */
#ifndef PROBE_BASE_CORES_H
#define PROBE_BASE_CORES_H

#include <stdbool.h>
#include <stdint.h>

#define CORES_MAX 8192

/* Bit i of word i / 64 is core i: the layout of sched_setaffinity() on a little-endian 64-bit machine. */
struct cores {
	uint64_t word[CORES_MAX / 64];
};

/*
 * Finds the cores assigned to this process, except those to which one of its threads is pinned.
 * Considers all threads, because the calling one may be pinned itself. Returns the number of
 * cores, or -errno. Allocates.
 */
int cores_free(struct cores *c);

/* True if the calling thread is pinned to one core. */
bool cores_pinned(void);

#endif
