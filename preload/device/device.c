/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "elf/loaded/modules.h"

static _Atomic(const struct device_backend *) known;
_Atomic uint32_t device_loads = 1; /* number of reported loads; 1: the libraries at program start */
_Atomic uint32_t device_quiet_loads; /* number of loads that have finished */
static _Atomic uint64_t looked; /* 1 + generation of the modules at the last check */

static _Atomic uint32_t forks;

uint32_t device_get_forks(void)
{
	return atomic_load_explicit(&forks, memory_order_relaxed);
}

void device_forked(void)
{
	atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static int has_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *want = arg, *path = info->dlpi_name ? info->dlpi_name : "";
	const char *base = strrchr(path, '/');

	(void)size;
	base = base ? base + 1 : path;
	return strncmp(base, want, strlen(want)) == 0;
}

static const struct device_backend *find_backend(void)
{
	if (!device_backends)
		return NULL;
	for (const struct device_backend *const *b = device_backends; *b; b++)
		if (dl_iterate_phdr(has_library, (void *)(uintptr_t)(*b)->library) &&
			(*b)->attach())
			return *b;
	return NULL;
}

const struct device_backend *device_known(void)
{
	return atomic_load_explicit(&known, memory_order_acquire);
}

const struct device_backend *device_present(void)
{
	const struct device_backend *b = device_known();
	uint64_t now;

	/* A device's driver is never unloaded, so the answer is final. */
	if (b)
		return b;
	now = modules_get_generation() + 1;
	if (atomic_load_explicit(&looked, memory_order_relaxed) == now)
		return NULL;
	b = find_backend();
	if (b) {
		atomic_store_explicit(&known, b, memory_order_release);
		/* From now on device_watch() returns it. */
		atomic_fetch_add_explicit(&device_loads, 1, memory_order_release);
	}
	atomic_store_explicit(&looked, now, memory_order_relaxed);
	return b;
}

/*
 * Asking the loader takes its lock, so device_watch() asks only after libprobe's hook of dlopen()
 * has reported a load. The hook reports a load before it happens, and its duration is not known,
 * so checks continue for QUIET_NS. During this time one check in LOOK_NS is enough: a runtime
 * needs milliseconds to start, and no pointer of the job is on the device before.
 *
 * If a library is known to call the loader's own dlopen() (RTLD_DEEPBIND, dlsym), checks never
 * stop. Because there may be other ways to load, one call in DEVICE_ASK_EVERY is checked anyway.
 */
#define QUIET_NS UINT64_C(10000000000)
#define LOOK_NS 5000u

static _Atomic uint64_t
	last_load; /* CLOCK_MONOTONIC, because ticks are not valid yet at an early dlopen() */
static _Atomic bool past_us;

void device_loading(bool untold)
{
	if (!device_backends)
		return;
	if (untold)
		atomic_store_explicit(&past_us, true, memory_order_relaxed);
	atomic_store_explicit(&last_load, clock_ns(CLOCK_MONOTONIC), memory_order_relaxed);
	atomic_fetch_add_explicit(&device_loads, 1, memory_order_release);
}

const struct device_backend *device_look(void)
{
	static _Atomic uint64_t last;
	uint32_t told = atomic_load_explicit(&device_loads, memory_order_acquire);
	const struct device_backend *b = device_known();
	uint64_t began, now;

	if (b)
		return b;
	began = atomic_load_explicit(&last_load, memory_order_relaxed);
	now = clock_ns(CLOCK_MONOTONIC);
	if (now - atomic_load_explicit(&last, memory_order_relaxed) < LOOK_NS)
		return device_known();
	atomic_store_explicit(&last, now, memory_order_relaxed);
	b = device_present();
	if (now > began && now - began > QUIET_NS &&
		!atomic_load_explicit(&past_us, memory_order_relaxed))
		atomic_store_explicit(&device_quiet_loads, told, memory_order_relaxed);
	return b;
}

bool device_is_host(
	const struct device_backend *b, const void *p, size_t bytes, enum device_memory *kind)
{
	enum device_memory last;

	*kind = DEVICE_IDLE;
	if (!b)
		return true;
	*kind = b->memory(p);
	if (bytes > 1 && *kind != DEVICE_IDLE) {
		last = b->memory((const char *)p + bytes - 1);
		if (last != *kind)
			/* the two ends of the buffer are in different memory: undecided */
			*kind = DEVICE_MEMORY;
	}
	return *kind != DEVICE_MEMORY;
}
