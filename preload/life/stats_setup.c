/* SPDX-License-Identifier: Apache-2.0 */
/* Selects how tensors are measured in this process: keys stats_isa, stats_threads, device_copy_mib. */
#include <string.h>

#include "base/cores.h"
#include "base/log.h"
#include "config/rooms/calls.h"
#include "device/snapshots.h"
#include "life/life.h"
#include "session/state.h"
#include "stats/stats.h"
#include "stats/threads.h"

/*
 * Starts as many helpers as requested, but leaves one core to the calling thread. The writer thread, which may use all
 * cores, must not exist yet.
 */
static void start_helpers(void)
{
	const struct calls_keys *keys = get_calls_keys(get_config());
	struct cores where;
	int want = (int)keys->stats_threads, n, started = 0;

	if (!want || !keys->statistics)
		return;
	n = cores_free(&where);
	if (n > 0 && !cores_pinned())
		n--;
	if (n > 0)
		started = stats_threads_start((unsigned)(want < n ? want : n),
			(uint64_t)keys->stats_threads_min_bytes, &where);
	if (n == 0)
		log_loss(LOSS_CONFIG,
			"stats_threads: no core of this process is free of pinned threads; the "
			"calling threads measure alone; give each rank more cores, or do not pin "
			"its threads");
	else if (n < 0 || started < 0)
		log_loss(LOSS_CONFIG,
			"stats_threads: %s; the calling threads measure alone; set it to 0",
			strerror(n < 0 ? -n : -started));
	else
		log_info(2, "%d helper threads for statistics", started);
}

void session_statistics(void)
{
	snapshots_set_size((size_t)get_calls_keys(get_config())->device_copy_mib << 20);
	if (stats_select(get_calls_keys(get_config())->stats_isa))
		log_loss(LOSS_CONFIG,
			"stats_isa: this CPU lacks the instructions that are set; %s is "
			"used instead, with the same results",
			stats_selected());
	log_info(2, "statistics by %s", stats_selected());
	start_helpers();
}
