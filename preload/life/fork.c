/* SPDX-License-Identifier: Apache-2.0 */
#include "life/fork.h"

#include "api/api.h"
#include "api/enabled.h"
#include "api/runtime_registry.h"
#include "base/log.h"
#include "call/activation.h"
#include "call/comm.h"
#include "call/pending.h"
#include "call/recorder.h"
#include "call/stackid.h"
#include "call/stream.h"
#include "config/rooms/process.h"
#include "device/device.h"
#include "device/measure.h"
#include "device/snapshots.h"
#include "life/last_words.h"
#include "life/life.h"
#include "life/settings.h"
#include "journal/store/tensor_pool.h"
#include "session/state.h"
#include "sink/stats_store.h"
#include "stack/foreign.h"
#include "stats/threads.h"
#include "training/params/kind.h"
#include "training/params/param.h"
#include "training/params/place.h"
#include "training/steps/late.h"
#include "training/steps/skip.h"
#include "training/steps/step_times.h"
#include "training/steps/stop.h"
#include "writer/writer.h"

static void run_handlers(void (*const *handler)(void))
{
	for (; *handler; handler++)
		(*handler)();
}

/*
 * Calls the fork handlers of a row's library. arg: the library of the previous row, because rows
 * of one library are usually adjacent.
 */
static void run_adapter_handlers(struct api *a, void *arg)
{
	const struct adapter **last = arg, *l;

	/* The row is not filled in, so its adapter has not been used. */
	if (!a->spec)
		return;
	l = a->spec->lib;
	if (l == *last)
		return;
	*last = l;
	if (l->fork_handlers)
		run_handlers(l->fork_handlers);
}

static void run_all_adapter_handlers(void)
{
	const struct adapter *last = NULL;

	for (unsigned i = 0; i < api_count; i++)
		run_adapter_handlers(api_get(i), &last);
	rows_each(run_adapter_handlers, &last);
}

static void remove_dict(struct api *a, void *arg)
{
	(void)arg;
	atomic_store(&a->dict, 0);
}

/* The names of functions are in the parent's journal, not in the child's. */
static void dict_forked(void)
{
	for (unsigned i = 0; i < api_count; i++)
		remove_dict(api_get(i), NULL);
	rows_each(remove_dict, NULL);
}

/* The child's environment may have another rank. */
static void rank_forked(void)
{
	if (!session.rank_told) {
		session.world_rank = session.world_size = -1;
		session.rank_guessed = false;
	}
	atomic_store(&session_rank_wanted, 0);
}

static void session_lock_forked(void)
{
	pthread_mutex_init(&session.lock, NULL);
}

/*
 * Every state of the core that a fork can meet: tests/fork_states.sh finds a lock or a handler
 * that is in no table. No handler depends on another, except on the session's lock.
 *
 * These run in each child, recorded or not, whatever the session's phase: wrappers take these
 * locks, follow communicators and watch a training before the first record, too.
 */
static void (*const all_fork_handlers[])(void) = {
	session_lock_forked,
	generation_forked,
	writer_forked,
	stats_store_forked,
	comm_forked,
	foreign_forked,
	activation_forked,
	tensor_pool_forked,
	stats_threads_forked,
	device_forked,
	snapshots_forked,
	config_watch_forked,
	step_times_forked,
	late_forked,
	train_params_forked,
	train_buckets_forked,
	train_kinds_forked,
	train_places_forked,
	stop_job_forked,
	skip_forked,
	NULL,
};

/* In a child of a process that has recorded: its pending calls, the threads' records, devices. */
static void (*const recorded_fork_handlers[])(void) = {
	thread_reset,
	pending_reset,
	stream_reset,
	device_measure_reset,
	NULL,
};

/*
 * For a child that will record. Each resets what is in the parent's folder (last words, settings
 * ...) and must be written into the child's as well.
 */
static void (*const follow_fork_handlers[])(void) = {
	reset_last_words,
	settings_forked,
	writer_forget,
	rank_forked,
	dict_forked,
	stack_id_reset,
	log_reset,
	NULL,
};

/*
 * Runs in the child before fork() returns. The parent's other threads, its writer among them, do
 * not exist in the child and may have held any lock; the journal is still mapped and belongs to
 * the parent.
 */
void child_after_fork(void)
{
	uint32_t phase = atomic_load(&session.phase);

	run_handlers(all_fork_handlers);
	run_all_adapter_handlers();
	if (phase != SESSION_ON && phase != SESSION_ENDED)
		return;
	run_handlers(recorded_fork_handlers);
	if (get_process_keys(get_config())->fork != FORK_FOLLOW) {
		session_set_final_phase(SESSION_OFF);
		writer_leave_journal();
		return;
	}
	run_handlers(follow_fork_handlers);
	if (session.wiped)
		*(volatile uint32_t *)(uintptr_t)session.alive = 1;
	atomic_store(&session.phase, SESSION_READY);
	set_off_reason(OFF_SETTLED, false);
}
