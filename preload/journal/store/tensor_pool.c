/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/store/tensor_pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define UNIT 256 /* bytes */

enum { PLACE_EMPTY, PLACE_READY, PLACE_VOID, PLACE_SKIP };

static struct {
	_Atomic(char *) memory; /* NULL: no pool */
	_Atomic uint8_t *state; /* one for each unit; set at the first unit of a copy */
	uint64_t units;
	_Alignas(64) _Atomic uint64_t head; /* units taken so far */
	_Alignas(64) _Atomic uint64_t tail; /* units freed so far */
	_Atomic uint64_t of_step; /* number of the step (<< 32), and its bytes so far */
	_Atomic uint64_t used;
} pool;

int tensor_pool_open(uint64_t bytes)
{
	uint64_t units = bytes / UNIT;
	char *at;

	if (atomic_load(&pool.memory))
		return 0;
	at = mmap(NULL, units * (UNIT + 1), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	pool.units = units;
	pool.state = (_Atomic uint8_t *)(at + units * UNIT);
	atomic_store_explicit(&pool.memory, at, memory_order_release);
	return 0;
}

void tensor_pool_forked(void)
{
	if (!atomic_load(&pool.memory))
		return;
	memset((void *)pool.state, 0, pool.units);
	atomic_store(&pool.head, 0);
	atomic_store(&pool.tail, 0);
}

static struct tensor_copy *copy_at(uint64_t unit)
{
	return (struct tensor_copy *)(atomic_load(&pool.memory) + unit % pool.units * UNIT);
}

static _Atomic uint8_t *get_unit_state(uint64_t unit)
{
	return &pool.state[unit % pool.units];
}

/* Units that are skipped because a copy does not fit before the end of the ring. */
static uint64_t compute_skipped_units(uint64_t head, uint64_t units)
{
	uint64_t left = pool.units - head % pool.units;

	return units > left ? left : 0;
}

struct tensor_copy *tensor_pool_reserve(unsigned ndim, uint64_t bytes)
{
	uint64_t units =
		(sizeof(struct tensor_copy) + 16 * (uint64_t)ndim + bytes + UNIT - 1) / UNIT;
	uint64_t head, skip;
	struct tensor_copy *c;

	if (!atomic_load_explicit(&pool.memory, memory_order_acquire) || units > pool.units)
		return NULL;
	head = atomic_load(&pool.head);
	do {
		skip = compute_skipped_units(head, units);
		if (head + skip + units - atomic_load(&pool.tail) > pool.units)
			return NULL;
	} while (!atomic_compare_exchange_weak(&pool.head, &head, head + skip + units));
	if (skip) {
		copy_at(head)->units = skip;
		atomic_store_explicit(get_unit_state(head), PLACE_SKIP, memory_order_release);
	}
	c = copy_at(head + skip);
	*c = (struct tensor_copy){.units = units, .bytes = bytes, .ndim = (uint8_t)ndim};
	return c;
}

void tensor_pool_close_copy(struct tensor_copy *c, bool whole)
{
	uint64_t unit = (uint64_t)((char *)c - atomic_load(&pool.memory)) / UNIT;

	atomic_store_explicit(
		get_unit_state(unit), whole ? PLACE_READY : PLACE_VOID, memory_order_release);
}

bool tensor_pool_is_filling(void)
{
	return atomic_load_explicit(&pool.head, memory_order_relaxed) -
		       atomic_load_explicit(&pool.tail, memory_order_relaxed) >
	       pool.units / 4;
}

bool tensor_pool_allows(uint32_t step, uint64_t bytes, uint64_t limit)
{
	uint64_t now = (uint64_t)step + 1, was = atomic_load(&pool.of_step);

	if (was != now && atomic_compare_exchange_strong(&pool.of_step, &was, now))
		atomic_store(&pool.used, 0);
	if (limit && atomic_load(&pool.used) + bytes > limit)
		return false;
	atomic_fetch_add(&pool.used, bytes);
	return true;
}

static void free_reserved_place(void)
{
	uint64_t tail = atomic_load(&pool.tail), units = copy_at(tail)->units;

	atomic_store_explicit(get_unit_state(tail), PLACE_EMPTY, memory_order_relaxed);
	atomic_store_explicit(&pool.tail, tail + units, memory_order_release);
}

const struct tensor_copy *tensor_pool_get_first(void)
{
	if (!atomic_load_explicit(&pool.memory, memory_order_acquire))
		return NULL;
	while (atomic_load(&pool.tail) != atomic_load(&pool.head)) {
		uint64_t tail = atomic_load(&pool.tail);
		uint8_t state = atomic_load_explicit(get_unit_state(tail), memory_order_acquire);

		if (state == PLACE_READY)
			return copy_at(tail);
		if (state == PLACE_EMPTY)
			return NULL;
		free_reserved_place();
	}
	return NULL;
}

void tensor_pool_remove_first(void)
{
	free_reserved_place();
}
