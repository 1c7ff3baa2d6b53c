/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the recording. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/thread.h"
#include "call/stream.h"
#include "life/life.h"
#include "session/state.h"
#include "stats/threads.h"
#include "writer/writer.h"

static void end_apart(void *arg)
{
	uint32_t on = SESSION_ON;
	int cancel;

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	stream_poll();
	if (atomic_compare_exchange_strong(&session.phase, &on, SESSION_ENDED)) {
		session_settle(SESSION_ENDED);
		stats_threads_stop();
		writer_end();
	}
	pthread_setcancelstate(cancel, NULL);
}

void session_end(void)
{
	int err = errno;

	if (!session_is_on() || getpid() != session.pid)
		return;
	thread_state.busy++;
	apart_call(end_apart, NULL);
	thread_state.busy--;
	errno = err;
}
