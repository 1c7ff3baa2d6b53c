/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/role.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/tid.h"

#define WAITED 0x80000000u /* other threads wait for the role */

static _Atomic uint32_t holder; /* thread id, or 0 */

bool role_take_now(void)
{
	uint32_t no_holder = 0;

	return !atomic_load_explicit(&holder, memory_order_relaxed) &&
	       atomic_compare_exchange_strong(&holder, &no_holder, read_tid());
}

bool role_take_within(long ms)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + (uint64_t)ms * 1000000;

	while (!role_take_now()) {
		uint32_t had = atomic_load(&holder);
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (now >= until)
			return false;
		if (!had || (!(had & WAITED) &&
				    !atomic_compare_exchange_strong(&holder, &had, had | WAITED)))
			continue;

		struct timespec left = {.tv_sec = (time_t)((until - now) / 1000000000),
			.tv_nsec = (long)((until - now) % 1000000000)};

		syscall(SYS_futex, &holder, FUTEX_WAIT_PRIVATE, had | WAITED, &left, NULL, 0);
	}
	return true;
}

void role_release(void)
{
	if (atomic_exchange(&holder, 0) & WAITED)
		syscall(SYS_futex, &holder, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int role_holder(void)
{
	return (int)(atomic_load_explicit(&holder, memory_order_relaxed) & ~WAITED);
}

void role_reset(void)
{
	atomic_store(&holder, 0);
}
