/* SPDX-License-Identifier: Apache-2.0 */
#include "training/steps/scalar.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/thread.h"
#include "text/text.h"
#include "call/recorder.h"
#include "call/step.h"
#include "journal/meta_part.h"
#include "session/state.h"

static bool scalar_is_recorded(uint32_t step)
{
	const struct generation *g = get_generation();

	return !g->paused && session_rank_selected() && config_step_wanted(g->cfg, step);
}

bool scalar_is_due(enum scalar which)
{
	return scalar_is_wanted(which) && scalar_is_recorded(step_now());
}

static THREAD_OWN struct scalar_time time_of_step; /* ticks 0: the present time */

struct scalar_time scalar_get_time(void)
{
	return (struct scalar_time){clock_ticks(), clock_ns(CLOCK_REALTIME_COARSE)};
}

void scalar_set_time(const struct scalar_time *t)
{
	own(time_of_step) = t ? *t : (struct scalar_time){0};
}

static uint64_t get_scalar_time(bool real)
{
	const struct scalar_time *t = &own(time_of_step);

	if (t->ticks)
		return real ? t->real_ns : t->ticks;
	return real ? clock_ns(CLOCK_REALTIME_COARSE) : clock_ticks();
}

static void write_scalar_record(
	enum scalar which, uint32_t step, uint16_t optimizer, uint16_t group, double value)
{
	bool real = which == SCALAR_EMBEDDING_NORM;
	struct journal_scalar *e;
	struct thread *t;

	if (!scalar_is_recorded(step) || (!session_is_on() && !session_start()))
		return;
	t = thread_get();
	if (!t)
		return;
	e = thread_reserve(t, sizeof(*e));
	if (!e) {
		thread_count(t, JC_DROP_VALUES);
		return;
	}
	*e = (struct journal_scalar){
		.e = {.bytes = sizeof(*e), .type = JE_SCALAR},
		/*
		 * A checkpoint's step is found by its file's time, which is that of the kernel's
		 * last clock tick. Only readings of the same clock are comparable with it. Ticks
		 * converted later do not follow changes of the clock, and a late tick on a loaded
		 * machine makes files look older than they are.
		 */
		.at = get_scalar_time(real),
		.at_is_real = real,
		.value = value,
		.step = step,
		.which = (uint16_t)which,
		.optimizer = optimizer,
		.group = group,
	};
	chain_publish(&t->chain, sizeof(*e));
}

void scalar_write_of(
	enum scalar which, uint32_t step, uint16_t optimizer, uint16_t group, double value)
{
	if (scalar_is_wanted(which))
		write_scalar_record(which, step, optimizer, group, value);
}

void record_metric_of(enum scalar which, uint32_t step, uint16_t group, double value)
{
	write_scalar_record(which, step, 0, group, value);
}

void scalar_write_metric(enum scalar which, uint32_t step, double value)
{
	write_scalar_record(which, step, 0, JOURNAL_NO_GROUP, value);
}

void scalar_write(enum scalar which, uint32_t step, double value)
{
	scalar_write_of(which, step, 0, JOURNAL_NO_GROUP, value);
}

void scalar_is_derived(enum scalar which)
{
	static _Atomic uint32_t derived;
	uint32_t bit = UINT32_C(1) << which, all;
	char part[512];
	struct text t = text_init(part, sizeof(part));

	if (atomic_load_explicit(&derived, memory_order_relaxed) & bit || !session.journal.head ||
		!scalar_is_wanted(which))
		return;
	all = atomic_fetch_or(&derived, bit) | bit;
	text_add_bytes(&t, "derived_scalars", sizeof("derived_scalars"));
	text_add_char(&t, '[');
	for (unsigned i = 0, n = 0; i < SCALARS; i++)
		if (all >> i & 1) {
			text_add_string(&t, n++ ? ", " : "");
			text_add_json(&t, scalar_names[i]);
		}
	text_add_char(&t, ']');
	if (!t.cut)
		journal_dict_add(&session.journal, DICT_META, META_DERIVED, part, t.len + 1);
}
