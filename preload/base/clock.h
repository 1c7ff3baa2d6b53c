/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time. The hot path stores raw ticks. The writer and the tools convert them to nanoseconds of the Unix epoch with the
 * anchors in struct clock_base. Ticks are the TSC where the kernel uses it as clock source (then it is invariant and
 * equal on all cores), the generic counter on aarch64, else CLOCK_MONOTONIC nanoseconds.
 */
#ifndef PROBE_BASE_CLOCK_H
#define PROBE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * ns = real_ns + (ticks - tick) * ns_per_tick. Monotonic within the process: the anchor is chosen
 * once and never set back.
 */
struct clock_base {
	uint64_t tick; /* ticks at the anchor */
	uint64_t mono_ns; /* CLOCK_MONOTONIC at the anchor */
	uint64_t real_ns; /* CLOCK_REALTIME at the anchor */
	double ns_per_tick;
};

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

extern bool clock_use_counter __attribute__((visibility("hidden"))); /* set by clock_set_source */

static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(clock_use_counter, 1))
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	if (__builtin_expect(clock_use_counter, 1)) {
		uint64_t v;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
		return v;
	}
#endif
	return clock_ns(CLOCK_MONOTONIC);
}

/* Chooses the counter (reads one file of /sys). Ticks read before this call are not valid. */
void clock_set_source(void);

/* Takes the first anchor: 20 microseconds. */
void clock_init(struct clock_base *base);

/*
 * Refines ns_per_tick from the time passed since the anchor. Call before each drain until `settled` becomes true (10 s). A rate
 * measured over a time t is off by about 20 ns in t, so rows written with it are accurate to about 20 ns. The next, better rate
 * moves start_ns back by no more than that. Does nothing in the first 0.1 ms. Writer thread only.
 */
void clock_update(struct clock_base *base, bool *settled);

/* Saturates: in a damaged journal ticks may have any value. */
static inline uint64_t clock_to_real(const struct clock_base *b, uint64_t ticks)
{
	double d = (double)(int64_t)(ticks - b->tick) * b->ns_per_tick;

	if (d < 0)
		return -d < (double)b->real_ns ? b->real_ns - (uint64_t)-d : 0;
	/* Below 2^63 a conversion to a signed number gives the same, in one instruction. */
	return d < 0x1p63 ? b->real_ns + (uint64_t)(int64_t)d : UINT64_MAX;
}

static inline uint64_t clock_to_dur(const struct clock_base *b, uint64_t ticks)
{
	double d = (double)ticks * b->ns_per_tick;

	return d < 0x1p63 ? (uint64_t)(int64_t)d : UINT64_MAX;
}

#endif
