/* SPDX-License-Identifier: Apache-2.0 */
#include "training/steps/flops.h"

#include <stdatomic.h>

#include "base/hash.h"
#include "config/rooms/training.h"
#include "training/steps/scalar.h"

/* Totals of the current step. */
static _Atomic uint64_t model, all, operators;
static _Atomic uint64_t leader_hash; /* sum of the hashes of the leader's calls, on all threads */
static _Atomic bool missed, given_up;
static _Atomic bool counted = true;

/* Results of the last counted step. */
static struct {
	bool there;
	uint32_t step;
	uint64_t leader_hash;
	struct flops of_step;
} known;

static flops_switch_fn *_Atomic switch_watch;

bool flops_are_wanted(void)
{
	const struct config *cfg = get_config();
	const struct training_keys *keys = get_training_keys(cfg);

	if (scalar_is_wanted(SCALAR_HFU) && keys->peak_flops > 0)
		return true;
	return !(keys->model_flops_per_step > 0) &&
	       (scalar_is_wanted(SCALAR_MODEL_FLOPS) ||
		       (scalar_is_wanted(SCALAR_MFU) && keys->peak_flops > 0));
}

bool flops_are_counted(void)
{
	return atomic_load_explicit(&counted, memory_order_relaxed);
}

void flops_add(double of_model, double in_all)
{
	atomic_fetch_add_explicit(&model, (uint64_t)of_model, memory_order_relaxed);
	atomic_fetch_add_explicit(&all, (uint64_t)in_all, memory_order_relaxed);
	atomic_fetch_add_explicit(&operators, 1, memory_order_relaxed);
}

void flops_add_leader_call(uint64_t shapes)
{
	atomic_fetch_add_explicit(&leader_hash, hash_mix(shapes | 1), memory_order_relaxed);
}

void flops_set_unknown(void)
{
	atomic_store_explicit(&missed, true, memory_order_relaxed);
}

void flops_stop_counting(void)
{
	atomic_store_explicit(&given_up, true, memory_order_relaxed);
}

void flops_register_switch(flops_switch_fn *fn)
{
	atomic_store_explicit(&switch_watch, fn, memory_order_relaxed);
}

static void set_counting(bool on)
{
	flops_switch_fn *fn = atomic_load_explicit(&switch_watch, memory_order_relaxed);

	if (atomic_exchange_explicit(&counted, on, memory_order_relaxed) != on && fn)
		fn(on);
}

/* Keeps the result of a counted step. Returns true if the next step is to be counted too. */
static bool record_step_count(uint32_t step, const struct flops *f, uint64_t leader, bool whole)
{
	bool same = known.there && leader && known.leader_hash == leader;

	known.there = whole;
	known.step = step;
	known.leader_hash = leader;
	known.of_step = *f;
	return !whole || !same || get_training_keys(get_config())->flops_interval <= 1;
}

bool flops_close_step(uint32_t step, struct flops *of_step)
{
	struct flops f = {(double)atomic_exchange(&model, 0), (double)atomic_exchange(&all, 0)};
	uint64_t n = atomic_exchange(&operators, 0), leader = atomic_exchange(&leader_hash, 0);
	bool whole = !atomic_exchange(&missed, false), there, next;

	if (atomic_load_explicit(&given_up, memory_order_relaxed)) {
		set_counting(false);
		return false;
	}
	if (flops_are_counted()) {
		there = whole && n;
		next = record_step_count(step, &f, leader, there);
	} else {
		there = known.there && leader && leader == known.leader_hash && whole;
		f = known.of_step;
		next = !there ||
		       (uint64_t)step + 1 >=
			       (uint64_t)known.step +
				       (uint64_t)get_training_keys(get_config())->flops_interval;
	}
	set_counting(next);
	*of_step = f;
	return there;
}
