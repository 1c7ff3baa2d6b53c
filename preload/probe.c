/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of probe.h. */
#define PROBE_BUILDING
#include "probe.h"

#include <errno.h>

#include "base/log.h"
#include "base/thread.h"
#include "call/step.h"
#include "session.h"

long probe_step(void)
{
	int err = errno;
	long step = -1;

	thread_word.busy++;
	log_config_now();
	if (session_configure())
		step = (long)step_end(STEP_API);
	thread_word.busy--;
	errno = err;
	return step;
}

static int set_paused(bool on)
{
	int err = errno, ret = -1;

	thread_word.busy++;
	log_config_now();
	if (session_configure()) {
		atomic_store(&session.paused, on);
		ret = 0;
	}
	thread_word.busy--;
	errno = err;
	return ret;
}

int probe_pause(void)
{
	return set_paused(true);
}

int probe_resume(void)
{
	return set_paused(false);
}

int probe_flush(void)
{
	int err = errno, ret = session_is_on() ? 0 : -1;

	if (ret == 0) {
		thread_word.busy++;
		session_flush();
		thread_word.busy--;
	}
	errno = err;
	return ret;
}

const char *probe_version(void)
{
	return PROBE_VERSION;
}
