/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rest of libprobe for tests of preload/call: a session that is on, with an anonymous journal or one in a folder,
 * and a library of a few functions.
 */
#ifndef TESTS_UNIT_SESSION_HELPER_H
#define TESTS_UNIT_SESSION_HELPER_H

#include "core_helper.h"

#include <pthread.h>

#include "base/thread.h"
#include "api/api.h"
#include "call/comm.h"
#include "call/data/observer.h"
#include "call/recorder.h"
#include "session/generation_pair.h"
#include "session/state.h"

static const uint32_t session_alive = 1;

struct session session = {
	.alive = &session_alive,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.seq = 1,
	.world_rank = -1,
	.world_size = -1,
};

static _Atomic unsigned wakes;
static struct rank rank_of_test;

bool session_start(void)
{
	return session_is_on();
}

_Atomic int session_rank_wanted;

bool session_check_rank(void)
{
	return true;
}

void session_record_exclusion(bool listed)
{
	(void)listed;
}

static void wake(void)
{
	wakes++;
}

static _Atomic unsigned windows_changed;

static void count_window_change(void)
{
	windows_changed++;
}

static enum writer_help no_help(void)
{
	return HELP_USELESS;
}

const struct session_hooks session_hooks = {.wake_writer = wake,
	.help_writer = no_help,
	.step_ended = wake,
	.window_changed = count_window_change};

static inline void session_on(size_t bytes)
{
	rank_make(&rank_of_test, bytes);
	session.journal = rank_of_test.j;
	session.pid = getpid();
	session.clock.ns_per_tick = 1;
	generation_first.cfg = (struct config){.statistics = true,
		.dynamic_on = true,
		.eps = 1e-8,
		.stack_depth = 16,
		.step_count_per_record = 100,
		.journal_mib = (int64_t)(bytes >> 20)};
	tensor_watch_update(&generation_first.cfg);
	session.phase = SESSION_ON;
	thread_init();
	rank_sink(&rank_of_test);
}

static inline void session_over(void)
{
	session.phase = SESSION_ENDED;
	if (thread_state.recorder)
		chain_close(&thread_state.recorder->chain);
	thread_state.recorder = NULL;
	rank_drop(&rank_of_test);
}

/* Everything recorded so far, as rows. */
static inline struct table session_rows(bool last)
{
	assert_int_equal(drain_all(&rank_of_test.drain, last), 0);
	return read_test_table(rank_of_test.dir);
}

/* A communicator of that many ranks, world rank = rank; this is rank `rank`. */
static inline struct comm *make_test_comm(
	const struct adapter *lib, uint64_t handle, int32_t rank, int32_t size)
{
	struct comm *c = comm_alloc((uint32_t)size);

	assert_non_null(c);
	c->lib = lib;
	c->handle = handle;
	c->id = handle * 1000;
	c->kind = "world";
	c->rank = rank;
	c->size = size;
	for (int32_t i = 0; i < size; i++)
		c->world[i] = i;
	return c;
}

#endif
