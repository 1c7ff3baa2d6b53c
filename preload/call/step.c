/* SPDX-License-Identifier: Apache-2.0 */
#include "call/step.h"

#include <stdatomic.h>

#include "config/rooms/steps.h"
#include "text/text.h"
#include "config/metrics_asked.h"
#include "session/state.h"
#include "journal/meta_part.h"

struct step_state step_state = {.selected = true, .profiled = true, .micro = UINT32_MAX};
static _Atomic uint32_t best, hits;

/*
 * Steps without an optimizer step, as ranges that grow. `busy` is set by the thread that uses them. A
 * second thread, and the child of a fork during that time, only count: there is no lock to wait for.
 */
static struct {
	_Atomic uint32_t count;
	atomic_flag busy;
	uint32_t n;
	struct {
		uint32_t from, to;
	} range[META_SKIPPED_RANGES];
} skipped = {.busy = ATOMIC_FLAG_INIT};

/* Adds a step to the ranges. True if a new one begins with it. */
static bool add_skipped_step(uint32_t step)
{
	if (skipped.n && step - skipped.range[skipped.n - 1].to <= 1) {
		skipped.range[skipped.n - 1].to = step;
		return false;
	}
	if (skipped.n == META_SKIPPED_RANGES)
		return false;
	skipped.range[skipped.n].from = skipped.range[skipped.n].to = step;
	skipped.n++;
	return true;
}

static void write_skipped_steps(uint32_t count, uint32_t step)
{
	char both[128 + META_SKIPPED_RANGES * sizeof("[4294967295, 4294967295], ")];
	struct text t = text_init(both, sizeof(both));

	text_add_bytes(&t, "opt_skipped", sizeof("opt_skipped"));
	text_add_string(&t, "{\"count\": ");
	text_add_u64(&t, count);
	text_add_string(&t, ", \"last_step\": ");
	text_add_u64(&t, step);
	text_add_string(&t, ", \"ranges\": [");
	for (uint32_t i = 0; i < skipped.n; i++) {
		text_add_string(&t, i ? ", [" : "[");
		text_add_u64(&t, skipped.range[i].from);
		text_add_string(&t, ", ");
		text_add_u64(&t, skipped.range[i].to);
		text_add_char(&t, ']');
	}
	text_add_string(&t, "]}");
	journal_dict_add(&session.journal, DICT_META, META_SKIPPED, both, t.len + 1);
}

void step_skipped(uint32_t step)
{
	uint32_t n = atomic_fetch_add(&skipped.count, 1) + 1;

	if (atomic_flag_test_and_set(&skipped.busy))
		return;
	/*
	 * Each text takes space in the dictionary permanently, so it is written less often as n grows:
	 * until then a long range ends too early in meta.json.
	 */
	if ((add_skipped_step(step) || n <= META_SKIPPED_RANGES || !(n & (n - 1))) &&
		session.journal.head)
		write_skipped_steps(n, step);
	atomic_flag_clear(&skipped.busy);
}

void step_update_config(void)
{
	static _Atomic bool offset;
	const struct generation *g;
	bool changed = false;
	uint32_t step;

	if (!atomic_exchange(&offset, true))
		atomic_fetch_add(
			&step_state.now, (uint32_t)get_steps_keys(get_config())->start_iteration);

	/*
	 * If two threads do this at the same time, the later one must not store the earlier one's
	 * result.
	 */
	do {
		step = step_now();
		g = get_generation();
		bool wanted = config_step_wanted(g->cfg, step);
		bool profiled = wanted && ranges_has(&get_steps_keys(g->cfg)->profile_step, step);

		atomic_store(&step_state.selected, wanted);
		changed |= atomic_exchange(&step_state.profiled, profiled) != profiled;
	} while (atomic_load(&step_state.now) != step || get_generation() != g);
	if (changed)
		session_hooks.window_changed();
}

uint32_t step_end(enum step_source s)
{
	uint32_t b = atomic_load_explicit(&best, memory_order_relaxed);

	while (b < s && !atomic_compare_exchange_weak(&best, &b, s))
		;
	if (b > s)
		return step_now();

	if (config_get_scalars(get_config()) | config_get_metrics(get_config()))
		session_hooks.step_ending(step_now());
	/*
	 * Done before the number changes: a call that reads the new number then uses the new
	 * configuration too.
	 */
	generation_apply(step_now() + 1);

	uint32_t step = atomic_fetch_add(&step_state.now, 1) + 1;

	if (atomic_load_explicit(&session.phase, memory_order_acquire) >= SESSION_READY)
		step_update_config();
	if (atomic_load_explicit(&session.phase, memory_order_relaxed) == SESSION_READY)
		session_hooks.step_unrecorded();
	if (session_is_on()) {
		atomic_store_explicit(
			&session.journal.head->step, step_now(), memory_order_release);
		atomic_store_explicit(&session.journal.head->step_source, s, memory_order_relaxed);
		session_hooks.step_ended();
	}
	return step;
}

void step_write(void)
{
	atomic_store_explicit(&session.journal.head->step, step_now(), memory_order_release);
	atomic_store_explicit(&session.journal.head->step_source,
		atomic_load_explicit(&best, memory_order_relaxed), memory_order_relaxed);
}

void step_handle_marker(void)
{
	int64_t count = get_steps_keys(get_config())->step_marker_count;
	uint32_t every = count > 1 ? (uint32_t)count : 1;

	if ((atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed) + 1) % every == 0)
		step_end(STEP_MARKER);
}
