/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors on their way to the disk: copied by the threads of the job while they are what a call was given or gave back, written
 * by the thread that drains the journal. A ring of fixed size, made when the configuration wants it; without room a tensor is
 * skipped, and no thread waits. It does not outlive the process: a tensor that was not written when it was killed is lost.
 *
 * A thread reserves a place with one compare-and-swap and copies at leisure; places are given back in the order in which
 * they were taken.
 */
#ifndef PROBE_JOURNAL_TENSOR_POOL_H
#define PROBE_JOURNAL_TENSOR_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define TENSOR_POOL_DIMS 64

struct tensor_copy {
	uint64_t units; /* that it takes of the ring */
	uint64_t seq; /* of the call */
	uint64_t count, bytes; /* of the data after the dims */
	uint32_t step;
	uint16_t index;
	uint8_t io, dtype, ndim;
	uint8_t bits; /* 1: of DT_BOOL a bit for each element, the first lowest; in the order of the dims */
	uint8_t pad[2];
	/* ndim sizes, then as many strides of the data that follow them, in elements, all uint64_t */
};

static inline uint64_t *tensor_copy_dims(const struct tensor_copy *c)
{
	return (uint64_t *)(c + 1);
}

static inline void *tensor_copy_data(const struct tensor_copy *c)
{
	return tensor_copy_dims(c) + 2 * (uint64_t)c->ndim;
}

/* Makes it, or leaves it as it is when it is there. 0 or -errno. */
int tensor_pool_open(uint64_t bytes);

/* In a forked child: the copies are the parent's. */
void tensor_pool_forked(void);

/* NULL: no room. It has to be followed by tensor_pool_done(). */
struct tensor_copy *tensor_pool_reserve(unsigned ndim, uint64_t bytes);
void tensor_pool_done(struct tensor_copy *c, bool whole);

/* Is more than a quarter of it in use? */
bool tensor_pool_is_filling(void);

/* Reserves bytes of the step's budget. False: over `limit` (0: none). */
bool tensor_pool_allows(uint32_t step, uint64_t bytes, uint64_t limit);

/* The oldest copy that is complete, NULL: none, or an older one is not. For one thread at a time. */
const struct tensor_copy *tensor_pool_first(void);
void tensor_pool_drop_first(void);

#endif
