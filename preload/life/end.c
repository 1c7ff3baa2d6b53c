/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the recording. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/at_start.h"
#include "base/private_stack.h"
#include "base/thread.h"
#include "call/stream.h"
#include "life/last_words.h"
#include "life/life.h"
#include "session/state.h"
#include "stats/threads.h"
#include "training/steps/late.h"
#include "writer/writer.h"

static void close_on_private_stack(void *arg)
{
	uint32_t on = SESSION_ON;
	int cancel;

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	stream_poll();
	late_end();
	if (atomic_compare_exchange_strong(&session.phase, &on, SESSION_ENDED)) {
		write_last_words();
		session_set_final_phase(SESSION_ENDED);
		stats_threads_stop();
		writer_end();
		config_watch_stop();
	}
	pthread_setcancelstate(cancel, NULL);
}

static void write_words_on_private_stack(void *arg)
{
	(void)arg;
	write_last_words();
}

/*
 * The last chance before a signal ends the process; a handler of the job may still keep it alive.
 */
void life_aborting(void)
{
	int err = errno;

	if (!session_is_on() || getpid() != session.pid)
		return;
	record_abort("abort", 0, SIGABRT);
	thread_state.busy++;
	private_stack_call(write_words_on_private_stack, NULL);
	thread_state.busy--;
	errno = err;
}

void life_exiting(int code)
{
	if (getpid() == session.pid)
		record_exit_code(code);
	session_end();
}

START_CODE void session_end(void)
{
	int err = errno;

	if (!session_is_on() || getpid() != session.pid)
		return;
	thread_state.busy++;
	private_stack_call(close_on_private_stack, NULL);
	thread_state.busy--;
	errno = err;
}
