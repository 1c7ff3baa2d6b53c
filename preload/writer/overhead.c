/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/overhead.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "session/state.h"
#include "session/thinning.h"

#define WINDOWS_BELOW 6 /* windows in a row below half of the limit, after which more is recorded */

static struct window {
	uint64_t began_ns; /* CLOCK_MONOTONIC; 0: no window has begun */
	uint64_t calls_ticks, writer_ns; /* totals at the beginning of the window */
	unsigned below; /* windows in a row below half of the limit */
} window;

static uint64_t compute_call_ticks(void)
{
	struct journal *j = &session.journal;
	uint64_t sum = 0;

	for (uint32_t i = 0, n = journal_get_nthread(j); i < n; i++)
		sum += __atomic_load_n(&journal_get_thread(j, i)->self_ticks, __ATOMIC_RELAXED);
	return sum;
}

/*
 * Returns the number of cores that the writer may run on. It takes no time from the job as long
 * as one of them is idle.
 */
static double get_core_count(void)
{
	cpu_set_t cores;
	int n = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;

	return n > 0 ? n : 1;
}

/*
 * Returns the overhead in percent of the time since the window began. The time spent in the job's
 * threads is compared with wall time, because processor time would grow with threads that spin
 * while they wait for a device.
 */
static double measure_overhead(uint64_t now, uint64_t calls_ticks, uint64_t writer_ns)
{
	double wall = (double)(now - window.began_ns);
	double calls = (double)(calls_ticks - window.calls_ticks) * session.clock.ns_per_tick;
	double writer = (double)(writer_ns - window.writer_ns) / get_core_count();

	return 100 * (calls + writer) / wall;
}

/*
 * Makes space for one more interval: merges the two oldest ones into one, with the higher level,
 * so that no skipped call appears to have been recorded.
 */
static void join_oldest_intervals(struct journal_head *h)
{
	struct journal_thinned *list = h->thinned;

	list[0].to_tick = list[1].to_tick;
	list[0].to_step = list[1].to_step;
	if (list[1].level > list[0].level) {
		list[0].level = list[1].level;
		list[0].power = list[1].power;
		list[0].values_from = list[1].values_from;
	}
	memmove(list + 1, list + 2, (JOURNAL_THINNED - 2) * sizeof(*list));
	h->nthinned--;
}

static void set_level(struct journal_head *h, uint32_t level)
{
	uint64_t tick = clock_ticks();
	uint32_t step = atomic_load_explicit(&h->step, memory_order_relaxed);

	/* The interval is noted first: after kill -9 it must be known that calls were skipped. */
	if (h->nthinned && !h->thinned[h->nthinned - 1].to_tick) {
		h->thinned[h->nthinned - 1].to_tick = tick;
		h->thinned[h->nthinned - 1].to_step = step;
	}
	if (level) {
		if (h->nthinned == JOURNAL_THINNED)
			join_oldest_intervals(h);
		h->thinned[h->nthinned] = (struct journal_thinned){.from_tick = tick,
			.from_step = step,
			.level = level,
			.power = get_calls_power(level),
			.values_from = get_value_limit(level)};
		__atomic_store_n(&h->nthinned, h->nthinned + 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&h->thinning_level, level, __ATOMIC_RELAXED);
	set_thinning_level(level);
}

void reset_thinning(void)
{
	window = (struct window){0};
	set_thinning_level(0);
}

void update_thinning(double limit, int64_t window_ms)
{
	struct journal_head *h = session.journal.head;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), calls_ticks, writer_ns;
	uint32_t level = h->thinning_level;
	double percent;

	if (limit == 0) {
		window.began_ns = 0;
		if (level)
			set_level(h, 0);
		return;
	}
	if (window.began_ns && now - window.began_ns < (uint64_t)window_ms * 1000000)
		return;
	calls_ticks = compute_call_ticks();
	writer_ns = __atomic_load_n(&h->writer_ns, __ATOMIC_RELAXED);
	if (window.began_ns) {
		percent = measure_overhead(now, calls_ticks, writer_ns);
		window.below = percent < limit / 2 ? window.below + 1 : 0;
		if (percent > limit) {
			level = find_level_above(level);
		} else if (window.below == WINDOWS_BELOW) {
			level = find_level_below(level);
			window.below = 0;
		}
		if (level != h->thinning_level)
			set_level(h, level);
	}
	window.began_ns = now;
	window.calls_ticks = calls_ticks;
	window.writer_ns = writer_ns;
}
