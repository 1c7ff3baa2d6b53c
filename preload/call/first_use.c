/* SPDX-License-Identifier: Apache-2.0 */
/* Decides at a row's first call how its calls are handled. */
#include <string.h>

#include "base/log.h"
#include "call/call.h"
#include "config/list/chosen.h"
#include "config/marker.h"
#include "config/rooms/steps.h"
#include "resolve/real.h"
#include "session/state.h"

static bool is_row_listed(const struct api *f, const struct generation *g, uint32_t given)
{
	const struct api_spec *s = f->spec;

	if (!is_function_chosen(g->cfg, s->symbol, s->list_name, s->kind ? s->kind->op : NULL))
		return false;
	if (!(given & API_CHOSEN))
		return wraplist_match(g->list, s->lib->name, s->list_name);
	return !s->lib->listed || s->lib->listed(f);
}

/* True if calls of different ranks are matched by a number. */
static bool has_row_number(const struct api_spec *s)
{
	return s->at[ROLE_COMM] || s->at[ROLE_GROUP] || s->at[ROLE_WIN] || s->at[ROLE_MESSAGE] ||
	       s->lib->one_comm || s->lib->groups;
}

/*
 * True if the row's calls are counted from the first one on, because it was listed at the start,
 * or may be switched on later. Functions that are switched on in another way have no numbers:
 * their earlier calls are not known, and other calls of the communicator are numbered without
 * them.
 */
static bool is_row_counted(const struct api_spec *s, uint32_t given)
{
	return given & API_CHOSEN ||
	       wraplist_match(get_first_generation()->list, s->lib->name, s->list_name) ||
	       wraplist_match(generation_armable, s->lib->name, s->list_name);
}

/* Returns the traits of the row under configuration g; 0: none of its calls matters. */
static uint32_t compute_traits(const struct api *f, const struct generation *g, uint32_t given)
{
	const struct steps_keys *keys = get_steps_keys(g->cfg);
	const struct api_spec *s = f->spec;
	const char *marker = keys->step_marker;
	struct marker m;
	bool listed;
	uint32_t t = given & API_MARKED ? API_MARKER : 0;

	if (check_wanted())
		return API_COUNTED;
	if (s->task != TASK_DATA)
		return API_LISTED | API_HOOKED;
	listed = is_row_listed(f, g, given);
	/* While everything is off, operators pass straight through, but numbers that match ranks are still counted. */
	if (listed && keys->dynamic_on)
		t |= API_LISTED;
	if (has_row_number(s) && is_row_counted(s, given))
		t |= API_NUMBERED;
	if (marker && *marker &&
		(strcmp(marker, s->symbol) == 0 || strcmp(marker, s->list_name) == 0))
		t |= API_MARKER;
	if (marker && !marker_parse(marker, strlen(marker), &m) && m.form == MARKER_LANGUAGE &&
		listed)
		t |= API_LOOKED;
	if (!t)
		return 0;
	if (s->lib->hooked || s->completion != DONE_RETURN || s->at[ROLE_STATUS] ||
		s->at[ROLE_MESSAGE] || s->at[ROLE_WIN])
		t |= API_HOOKED;
	return t;
}

/*
 * Returns the row's word. The row's state is still API_NEW if the configuration has changed
 * meanwhile.
 */
static uint32_t set_row_word(struct api *f, uintptr_t pc)
{
	uint32_t was = get_api_word(f), given = was & API_GIVEN, traits = 0, next;
	uint32_t loads = real_get_loads();
	bool several = false, wanted;
	const struct generation *g;
	void *real;

	api_fill();
	if (was & API_STATES)
		return was; /* another thread has decided it just now */
	real = given & API_BOUND ? call_get_real(f) : real_find(f->spec, pc, &several);
	if (!real)
		return API_GONE;
	wanted = session_configure();
	g = get_generation();
	if (wanted)
		traits = compute_traits(f, g, given);
	log_config_now();
	/* A wrapper's fast path knows only one real function. */
	several |= !(given & API_BOUND) && (!real_settled(loads) || atomic_load(&f->elsewhere));
	next = given | traits | g->number << API_GENERATION |
	       (several		? API_MULTI
		       : traits ? API_ON
				: API_SKIP);
	if (!(given & API_BOUND) && atomic_exchange(&f->real, real) != real)
		atomic_store_explicit(&f->copy, 0, memory_order_relaxed);
	if (!atomic_compare_exchange_strong(&f->word, &was, next))
		return was;
	/*
	 * Another thread may be loading a second copy of the library, and may have found this row
	 * undecided.
	 */
	if (!(given & API_BOUND) && !real_settled(loads))
		set_api_state(f, API_ON | API_SKIP, API_MULTI);
	if (!(given & API_BOUND) && atomic_load(&f->elsewhere))
		set_api_state(f, API_ON | API_SKIP, API_MULTI);
	/* Checks the configuration again: it may have changed while the row was being decided. */
	if (get_generation()->number != g->number)
		reset_api(f);
	return get_api_word(f);
}

uint32_t call_first_use(struct api *f, uintptr_t pc)
{
	uint32_t w = set_row_word(f, pc);

	for (unsigned i = 0; i < GENERATIONS_MAX && !(w & API_STATES); i++)
		w = set_row_word(f, pc);
	return w;
}
