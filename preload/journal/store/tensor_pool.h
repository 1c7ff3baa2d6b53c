/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of tensors that wait to be written to disk. Threads of the job copy them at entry or
 * return of a call; the thread that drains the journal writes them. The pool is a ring of fixed
 * size, made if the configuration needs it. If it is full, a tensor is skipped; no thread waits.
 * It does not outlive the process: if the process is killed, unwritten tensors are lost.
 *
 * A thread reserves space with one compare-and-swap and then copies. Space is freed in the order
 * of reservation.
 */
#ifndef PROBE_JOURNAL_TENSOR_POOL_H
#define PROBE_JOURNAL_TENSOR_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define TENSOR_POOL_DIMS 64

struct tensor_copy {
	uint64_t units; /* size in units of the ring */
	uint64_t seq; /* number of the call */
	uint64_t count, bytes; /* elements and bytes of the data after the dims */
	uint32_t step;
	uint16_t index;
	uint8_t io, dtype, ndim;
	/* 1: DT_BOOL with one bit per element in the order of the dims, lowest bit first */
	uint8_t bits;
	uint8_t pad[2];
	/*
	 * Then follow ndim sizes and ndim strides of the data, in elements, all uint64_t, then
	 * the data.
	 */
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

/* For a forked child: drops the copies, which are the parent's. */
void tensor_pool_forked(void);

/*
 * Reserves space for a copy. Returns NULL if the ring is full. Must be followed by
 * tensor_pool_close_copy().
 */
struct tensor_copy *tensor_pool_reserve(unsigned ndim, uint64_t bytes);
void tensor_pool_close_copy(struct tensor_copy *c, bool whole);

/* True if more than a quarter of the ring is in use. */
bool tensor_pool_is_filling(void);

/*
 * Reserves `bytes` of the step's budget. Returns false if `limit` would be exceeded (limit 0:
 * none).
 */
bool tensor_pool_allows(uint32_t step, uint64_t bytes, uint64_t limit);

/* Returns the oldest copy if it is complete, else NULL. Only one thread at a time may call it. */
const struct tensor_copy *tensor_pool_get_first(void);
void tensor_pool_remove_first(void);

#endif
