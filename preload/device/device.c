/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "stack/stack.h"

static _Atomic(const struct device_backend *) known;
static _Atomic uint64_t looked; /* generation of the modules, + 1 */

static int has_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *want = arg, *path = info->dlpi_name ? info->dlpi_name : "";
	const char *base = strrchr(path, '/');

	(void)size;
	base = base ? base + 1 : path;
	return strncmp(base, want, strlen(want)) == 0;
}

static const struct device_backend *find(void)
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

	/* The driver of a device is not unloaded. */
	if (b)
		return b;
	now = modules_generation() + 1;
	if (atomic_load_explicit(&looked, memory_order_relaxed) == now)
		return NULL;
	b = find();
	if (b)
		atomic_store_explicit(&known, b, memory_order_release);
	atomic_store_explicit(&looked, now, memory_order_relaxed);
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
			*kind = DEVICE_MEMORY; /* one buffer in two sorts of memory: nobody's guess */
	}
	return *kind != DEVICE_MEMORY;
}
