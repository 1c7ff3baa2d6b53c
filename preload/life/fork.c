/* SPDX-License-Identifier: Apache-2.0 */
#include "life/fork.h"

#include "api/api.h"
#include "api/enabled.h"
#include "api/runtime_registry.h"
#include "base/log.h"
#include "call/comm.h"
#include "call/pending.h"
#include "call/recorder.h"
#include "call/stackid.h"
#include "call/stream.h"
#include "config/rooms/process.h"
#include "life/last_words.h"
#include "life/life.h"
#include "life/settings.h"
#include "journal/store/tensor_pool.h"
#include "session/state.h"
#include "sink/stats_store.h"
#include "stack/foreign.h"
#include "stats/threads.h"
#include "writer/writer.h"

/* *arg: the library of the previous row. Rows of one library are usually adjacent. */
static void tell_adapter_of_fork(struct api *a, void *arg)
{
	const struct adapter **last = arg, *l;

	/* Not filled yet: no adapter has been used. */
	if (!a->spec)
		return;
	l = a->spec->lib;
	if (l == *last)
		return;
	*last = l;
	if (l->forked)
		l->forked();
}

void call_forked(void)
{
	const struct adapter *last = NULL;

	comm_forked();
	foreign_forked();
	for (unsigned i = 0; i < api_count; i++)
		tell_adapter_of_fork(api_get(i), &last);
	rows_each(tell_adapter_of_fork, &last);
}

static void remove_dict(struct api *a, void *arg)
{
	(void)arg;
	atomic_store(&a->dict, 0);
}

/*
 * Runs in the child between fork() and its return. The parent's threads, its writer among them, do not exist here and
 * may have held any lock; the journal is still mapped and belongs to the parent.
 */
void child_after_fork(void)
{
	uint32_t phase = atomic_load(&session.phase);

	/* Communicators are tracked before the first record too. */
	pthread_mutex_init(&session.lock, NULL);
	generation_forked();
	writer_forked();
	stats_store_forked();
	call_forked();
	tensor_pool_forked();
	stats_threads_forked();
	config_watch_forked();
	if (phase != SESSION_ON && phase != SESSION_ENDED)
		return;
	thread_forget();
	pending_reset();
	stream_reset();
	if (get_process_keys(config_now())->fork != FORK_FOLLOW) {
		session_settle(SESSION_OFF);
		writer_leave_journal();
		return;
	}
	forget_last_words();
	settings_forked();
	writer_forget();
	if (!session.rank_told) {
		/* The child's environment may differ. */
		session.world_rank = session.world_size = -1;
		session.rank_guessed = false;
	}
	atomic_store(&session_rank_wanted, 0);
	for (unsigned i = 0; i < api_count; i++)
		atomic_store(&api_get(i)->dict, 0);
	rows_each(remove_dict, NULL);
	stack_id_reset();
	log_forget();
	if (session.wiped)
		*(volatile uint32_t *)(uintptr_t)session.alive = 1;
	atomic_store(&session.phase, SESSION_READY);
	recording_switch(OFF_SETTLED, false);
}
