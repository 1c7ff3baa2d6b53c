/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/own_start.h"

#include <time.h>

#include "base/clock.h"
#include "journal/journal.h"
#include "journal/meta_part.h"
#include "session/state.h"
#include "text/text.h"
#include "writer/output.h"

#define START_STEPS 2 /* 1 for the search for names and the description of stacks, 1 as a margin */
#define KEY "own_start"

void note_own_start(void)
{
	struct journal *j = &session.journal;
	const struct journal_head *h = j->head;
	uint32_t step = atomic_load_explicit(&h->step, memory_order_relaxed);
	uint64_t self = 0;
	char part[160];
	struct text t = text_init(part, sizeof(part));

	if (step < output.first_step + START_STEPS ||
		journal_dict_get(j, DICT_META, META_OWN_START))
		return;
	for (uint32_t i = 0, n = journal_get_nthread(j); i < n; i++)
		self += __atomic_load_n(&journal_get_thread(j, i)->self_ticks, __ATOMIC_RELAXED);
	text_add_string(&t, KEY);
	text_add_char(&t, 0);
	text_add_string(&t, "{\"in_calls_s\": ");
	text_add_double(&t, (double)self * h->clock.ns_per_tick * 1e-9, 6);
	text_add_string(&t, ", \"until_ns\": ");
	text_add_u64(&t, clock_ns(CLOCK_REALTIME));
	text_add_string(&t, ", \"step\": ");
	text_add_u64(&t, step);
	text_add_char(&t, '}');
	if (!t.cut)
		journal_dict_add(j, DICT_META, META_OWN_START, part, t.len + 1);
}
