/* SPDX-License-Identifier: Apache-2.0 */
/* Which cores of the machine a thread of our own may use without being in the way of the job's. */
#ifndef PROBE_BASE_CORES_H
#define PROBE_BASE_CORES_H

#include <stdbool.h>
#include <stdint.h>

#define CORES_MAX 8192

/* Bit i of word i / 64: core i. As sched_setaffinity() has it on a little-endian machine of 64 bits. */
struct cores {
	uint64_t word[CORES_MAX / 64];
};

/*
 * The cores that this process was given (those of all its threads together: one of them may be pinned already) but
 * for those to which one of its threads is pinned alone. Returns how many these are, or -errno. Allocates.
 */
int cores_free(struct cores *c);

/* True if the calling thread is pinned to one core. */
bool cores_pinned(void);

#endif
