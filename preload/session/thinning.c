/* SPDX-License-Identifier: Apache-2.0 */
#include "session/thinning.h"

struct thinning thinning = {.values_from = UINT64_MAX};

static const uint64_t smallest[THINNING_VALUE_LEVELS] = {
	UINT64_C(4) << 20, UINT64_C(512) << 10, THINNING_BYTES_LEAST};

uint64_t get_value_limit(uint32_t level)
{
	if (!level)
		return UINT64_MAX;
	return smallest[(level < THINNING_VALUE_LEVELS ? level : THINNING_VALUE_LEVELS) - 1];
}

uint32_t get_calls_power(uint32_t level)
{
	return level > THINNING_VALUE_LEVELS ? level - THINNING_VALUE_LEVELS : 0;
}

void set_thinning_level(uint32_t level)
{
	atomic_store_explicit(&thinning.values_from, get_value_limit(level), memory_order_relaxed);
	atomic_store_explicit(&thinning.calls_mask, (UINT64_C(1) << get_calls_power(level)) - 1,
		memory_order_relaxed);
}

void record_tensor_size(uint64_t bytes)
{
	uint32_t sizes = atomic_load_explicit(&thinning.sizes, memory_order_relaxed), new = 0;

	for (unsigned i = 0; i < THINNING_VALUE_LEVELS; i++)
		if (bytes >= smallest[i]) {
			new = 1u << i;
			break;
		}
	if (new & ~sizes)
		atomic_fetch_or_explicit(&thinning.sizes, new, memory_order_relaxed);
}

static bool has_level_effect(uint32_t level)
{
	return !level || level > THINNING_VALUE_LEVELS ||
	       atomic_load_explicit(&thinning.sizes, memory_order_relaxed) >> (level - 1) & 1;
}

uint32_t find_level_above(uint32_t level)
{
	if (level >= THINNING_LEVEL_MAX)
		return THINNING_LEVEL_MAX;
	do
		level++;
	while (!has_level_effect(level));
	return level;
}

uint32_t find_level_below(uint32_t level)
{
	if (!level)
		return 0;
	do
		level--;
	while (!has_level_effect(level));
	return level;
}
