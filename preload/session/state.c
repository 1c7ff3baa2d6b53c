/* SPDX-License-Identifier: Apache-2.0 */
#include "session/state.h"

#include <string.h>
#include <unistd.h>

#include "api/enabled.h"
#include "base/at_start.h"
#include "base/environment.h"
#include "config/list/chosen.h"
#include "config/rooms/steps.h"

static const uint32_t always = 1;

struct session session = {
	.alive = &always,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.seq = SEQ_FIRST,
	.world_rank = -1,
	.world_size = -1,
};

bool session_configure(void)
{
	uint32_t phase = atomic_load_explicit(&session.phase, memory_order_acquire);

	if (phase != SESSION_NEW)
		return phase == SESSION_READY || phase == SESSION_ON;
	return session_hooks.configure();
}

bool session_start(void)
{
	uint32_t phase = atomic_load_explicit(&session.phase, memory_order_acquire);

	if (phase == SESSION_ON) {
		/* A child made without pthread_atfork is detected here. */
		if (!*session.alive)
			set_off_reason(OFF_SETTLED, true);
		return *session.alive;
	}
	return phase == SESSION_READY && session_hooks.start();
}

void session_set_final_phase(enum session_phase p)
{
	atomic_store_explicit(&session.phase, p, memory_order_release);
	set_off_reason(OFF_SETTLED, true);
}

_Atomic int session_rank_wanted;

bool session_check_rank(void)
{
	const struct steps_keys *keys = get_steps_keys(get_config());
	int rank = session.world_rank, k;

	if (!keys->rank.n)
		k = 1;
	else if (rank < 0)
		return false; /* the rank is not known yet; a list of ranks excludes it */
	else
		k = ranges_has(&keys->rank, (uint64_t)rank) ? 1 : 2;
	atomic_store_explicit(&session_rank_wanted, k, memory_order_relaxed);
	return k == 1;
}

void session_record_exclusion(bool listed)
{
	if (atomic_load_explicit(&session.left_out, memory_order_relaxed))
		return;
	if (listed || *get_only_words(get_config()) || *get_skip_words(get_config()))
		atomic_store_explicit(&session.left_out, getpid(), memory_order_relaxed);
}

static bool is_no_rank_selected(void)
{
	const struct ranges *selected = &get_steps_keys(get_config())->rank;

	for (int k = 0; k < session.world_size; k++)
		if (ranges_has(selected, (uint64_t)k))
			return false;
	return session.world_size > 0;
}

bool session_has_excluded_all(void)
{
	/* A child of vfork() has the parent's memory. */
	if (atomic_load(&session.phase) != SESSION_READY ||
		atomic_load(&session.left_out) != getpid() || check_wanted())
		return false;
	return session_rank_selected() || (session.world_rank == 0 && is_no_rank_selected());
}

START_CODE const char *check_folder(void)
{
	static START_CONST const char name[] = "PROBE_CHECK";

	return startup_find_variable(name);
}

bool check_wanted(void)
{
	static _Atomic int known;
	int k = atomic_load_explicit(&known, memory_order_relaxed);

	if (!k) {
		k = check_folder() ? 1 : 2;
		atomic_store_explicit(&known, k, memory_order_relaxed);
	}
	return k == 1;
}
