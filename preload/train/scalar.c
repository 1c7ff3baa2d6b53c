/* SPDX-License-Identifier: Apache-2.0 */
#include "train/scalar.h"

#include "base/clock.h"
#include "call/recorder.h"
#include "session/state.h"

static bool scalar_is_recorded(uint32_t step)
{
	const struct generation *g = generation_now();

	return !g->paused && session_rank_selected() && config_step_wanted(&g->cfg, step);
}

void scalar_put_of(
	enum scalar which, uint32_t step, uint16_t optimizer, uint16_t group, double value)
{
	struct journal_scalar *e;
	struct thread *t;

	if (!scalar_is_wanted(which) || !scalar_is_recorded(step) ||
		(!session_is_on() && !session_start()))
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
		.at = clock_ticks(),
		.value = value,
		.step = step,
		.which = (uint16_t)which,
		.optimizer = optimizer,
		.group = group,
	};
	chain_publish(&t->chain, sizeof(*e));
}

void scalar_put(enum scalar which, uint32_t step, double value)
{
	scalar_put_of(which, step, 0, JOURNAL_NO_GROUP, value);
}
