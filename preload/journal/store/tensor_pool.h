/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors waiting to be written to disk. Threads of the job copy them when a call gets or returns them; the thread that drains
 * the journal writes them. A ring of fixed size, made if the configuration needs it. Without room a tensor is skipped, and no
 * thread waits. It does not outlive the process: if the process is killed, tensors not written yet are lost.
 *
 * A thread reserves a place with one compare-and-swap and then copies. Places are freed in the order in which they were taken.
 */
#ifndef PROBE_JOURNAL_TENSOR_POOL_H
#define PROBE_JOURNAL_TENSOR_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define TENSOR_POOL_DIMS 64

struct tensor_copy {
	uint64_t units; /* units of the ring that it takes */
	uint64_t seq; /* of the call */
	uint64_t count, bytes; /* of the data after the dims */
	uint32_t step;
	uint16_t index;
	uint8_t io, dtype, ndim;
	/* 1: DT_BOOL with one bit for each element, the first in the lowest bit, in the order of the dims */
	uint8_t bits;
	uint8_t pad[2];
	/* ndim sizes, then ndim strides of the following data, in elements, all uint64_t */
};

static inline uint64_t *tensor_copy_dims(const struct tensor_copy *c)
{
	return (uint64_t *)(c + 1);
}

static inline void *tensor_copy_data(const struct tensor_copy *c)
{
	return tensor_copy_dims(c) + 2 * (uint64_t)c->ndim;
}

/* Makes the ring, or keeps an existing one. Returns 0 or -errno. */
int tensor_pool_open(uint64_t bytes);

/* In a forked child: drops the copies, which are the parent's. */
void tensor_pool_forked(void);

/* Reserves a copy; NULL: no room. Must be followed by tensor_pool_done(). */
struct tensor_copy *tensor_pool_reserve(unsigned ndim, uint64_t bytes);
void tensor_pool_done(struct tensor_copy *c, bool whole);

/* True if more than a quarter of it is in use. */
bool tensor_pool_is_filling(void);

/* Reserves bytes of the step's budget. False: over `limit` (0: none). */
bool tensor_pool_allows(uint32_t step, uint64_t bytes, uint64_t limit);

/* The oldest copy if it is complete, else NULL. Only one thread at a time may call it. */
const struct tensor_copy *tensor_pool_first(void);
void tensor_pool_drop_first(void);

#endif
