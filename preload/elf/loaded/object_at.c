/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/loaded/object_at.h"

#include "base/at_start.h"

START_CODE uintptr_t object_get_self(void)
{
	static const char here;

	return (uintptr_t)&here;
}

struct at {
	uintptr_t addr;
	void (*fn)(const struct loaded_object *o, void *arg);
	void *arg;
	bool passed_us;
};

static int is_around(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct at *a = arg;
	struct loaded_object o = {.info = info};

	(void)size;
	get_object_bounds(info, &o.lo, &o.hi);
	o.us = object_get_self() >= o.lo && object_get_self() < o.hi;
	a->passed_us |= o.us;
	o.after_libprobe = a->passed_us;
	if (a->addr < o.lo || a->addr >= o.hi)
		return 0;
	a->fn(&o, a->arg);
	return 1;
}

bool elf_handle_object_at(
	uintptr_t addr, void (*fn)(const struct loaded_object *o, void *arg), void *arg)
{
	struct at a = {addr, fn, arg, false};

	return dl_iterate_phdr(is_around, &a);
}
