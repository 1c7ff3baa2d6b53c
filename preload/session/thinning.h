/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The amount of recording that key max_overhead allows: a level that the writer sets
 * (writer/overhead.c) and that calls read.
 *
 *	0		everything
 *	1 to 3		no values of tensors of 4 MiB, 512 KiB, 64 KiB and more
 *	3 + k		also only one call in 2^k
 *
 * Ranks choose the same calls: a call is kept if a hash of its communicator and its number on
 * this communicator is 0 modulo 2^k. So the calls of a rank at a higher level are a subset of
 * those of a rank at a lower level. Calls without such a number (operators, receives from any
 * rank) are selected by their count in their thread.
 */
#ifndef PROBE_SESSION_THINNING_H
#define PROBE_SESSION_THINNING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

#define THINNING_VALUE_LEVELS 3
/*
 * One call in 1,024. A skipped call still costs a tenth of a recorded one, so fewer records would
 * save no more.
 */
#define THINNING_LEVEL_MAX (THINNING_VALUE_LEVELS + 10)
/* values of smaller tensors are always measured */
#define THINNING_BYTES_LEAST (UINT64_C(64) << 10)

struct thinning {
	/* bytes of the smallest tensor without values; UINT64_MAX: none */
	_Atomic uint64_t values_from;
	_Atomic uint64_t calls_mask; /* 2^k - 1 */
	/* bit i: there was a tensor whose values are not measured at level i + 1 */
	_Atomic uint32_t sizes;
};

extern struct thinning thinning __attribute__((visibility("hidden")));

/* Sets the level for all calls from now on. */
void set_thinning_level(uint32_t level);

/* Notes that a tensor of `bytes` (at least THINNING_BYTES_LEAST) was measured. */
void record_tensor_size(uint64_t bytes);

/*
 * Returns the next higher level. Levels that would change nothing, because there are no tensors
 * of that size, are skipped.
 */
uint32_t find_level_above(uint32_t level);
uint32_t find_level_below(uint32_t level);

/*
 * get_value_limit(): size in bytes from which on tensors have no values at this level;
 * UINT64_MAX: all have values. The second function returns k.
 */
uint64_t get_value_limit(uint32_t level);
uint32_t get_calls_power(uint32_t level);

/* True if some calls are skipped. */
static inline bool is_thinning_on(void)
{
	return __builtin_expect(
		atomic_load_explicit(&thinning.calls_mask, memory_order_relaxed) != 0, 0);
}

/* True if the call with this number on communicator comm (comm 0: in its thread) is kept. */
static inline bool is_call_kept(uint64_t comm, int64_t number)
{
	return !(hash_u64(comm, (uint64_t)number) &
		 atomic_load_explicit(&thinning.calls_mask, memory_order_relaxed));
}

#endif
