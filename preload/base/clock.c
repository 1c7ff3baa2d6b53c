/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool clock_use_counter;

#ifdef __x86_64__
/* True if the kernel keeps time with the TSC. Only then is the TSC known to be invariant and equal on all cores. */
static bool is_kernel_clock_tsc(void)
{
	char buf[16] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	close(fd);
	return n >= 3 && strncmp(buf, "tsc", 3) == 0;
}
#endif

/*
 * Reads a pair (ticks, CLOCK_MONOTONIC), the closest of a few tries: an interrupt between the two
 * reads would spoil a single try.
 */
static void read_clock_pair(uint64_t *tick, uint64_t *mono)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t t0 = clock_ticks();
		uint64_t m = clock_ns(CLOCK_MONOTONIC);
		uint64_t t1 = clock_ticks();

		if (t1 - t0 < best) {
			best = t1 - t0;
			*tick = t0 + (t1 - t0) / 2;
			*mono = m;
		}
	}
}

/*
 * Measures the difference to CLOCK_REALTIME in the same way, so that ranks on one host agree on
 * the order of events.
 */
static uint64_t measure_real_minus_mono(void)
{
	uint64_t best = UINT64_MAX, minus = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t m0 = clock_ns(CLOCK_MONOTONIC);
		uint64_t real = clock_ns(CLOCK_REALTIME);
		uint64_t m1 = clock_ns(CLOCK_MONOTONIC);

		if (m1 - m0 < best) {
			best = m1 - m0;
			minus = real - (m0 + (m1 - m0) / 2);
		}
	}
	return minus;
}

void clock_set_source(void)
{
#if defined(__x86_64__)
	clock_use_counter = is_kernel_clock_tsc();
#elif defined(__aarch64__)
	clock_use_counter = true;
#endif
}

void clock_init(struct clock_base *base)
{
	base->ns_per_tick = 1.0;
	read_clock_pair(&base->tick, &base->mono_ns);

	base->real_ns = base->mono_ns + measure_real_minus_mono();
	if (!clock_use_counter)
		return;
#if defined(__aarch64__)
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	if (hz)
		base->ns_per_tick = 1e9 / (double)hz;
#else
	/* A first estimate, accurate to 1e-3; clock_update() refines it before any row is written. */
	uint64_t tick, mono;

	do
		read_clock_pair(&tick, &mono);
	while (mono - base->mono_ns < 20000);
	base->ns_per_tick = (double)(mono - base->mono_ns) / (double)(tick - base->tick);
#endif
}

void clock_update(struct clock_base *base, bool *settled)
{
	uint64_t tick, mono;

	if (!clock_use_counter || *settled)
		return;
	read_clock_pair(&tick, &mono);

	uint64_t passed = mono - base->mono_ns;

	if (passed < 100000u || tick <= base->tick)
		return;
	base->ns_per_tick = (double)passed / (double)(tick - base->tick);
	*settled = passed >= 10000000000u;
}
