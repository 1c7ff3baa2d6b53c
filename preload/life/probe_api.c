/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of probe.h. */
#define PROBE_BUILDING
#include "probe.h"

#include <errno.h>

#include "api/enabled.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/step.h"
#include "session/state.h"
#include "sink/stats_store.h"
#include "writer/writer.h"

long probe_step(void)
{
	int err = errno;
	long step = -1;

	thread_state.busy++;
	log_config_now();
	if (session_configure() && recording_enabled())
		step = (long)step_end(STEP_API);
	thread_state.busy--;
	errno = err;
	return step;
}

static int set_paused(bool on)
{
	int err = errno, ret = -1;

	thread_state.busy++;
	log_config_now();
	if (session_configure()) {
		generation_pause(on);
		ret = 0;
	}
	thread_state.busy--;
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
		thread_state.busy++;
		session_flush();
		thread_state.busy--;
	}
	errno = err;
	return ret;
}

int probe_stats_get(const char *kind, const char *name, const char *op, long *step, double *value)
{
	int64_t at;
	int err = errno, ret = -1;

	if (kind && name && op && step && value && probe_flush() == 0 &&
		stats_store_get(kind, name, op, &at, value) == 0) {
		*step = (long)at;
		ret = 0;
	}
	errno = err;
	return ret;
}

int probe_stats_next(unsigned long *at, const char **kind, const char **name, const char **op,
	long *step, double *value)
{
	uint64_t place = *at;
	int64_t number = 0;
	int err = errno, ret = -1;

	if (session_is_on()) {
		if (!place)
			probe_flush();
		ret = stats_store_get_next(&place, kind, name, op, &number, value);
		*at = (unsigned long)place;
		*step = (long)number;
	}
	errno = err;
	return ret;
}

const char *probe_version(void)
{
	return PROBE_VERSION;
}
