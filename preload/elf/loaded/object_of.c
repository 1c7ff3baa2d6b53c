/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/loaded/object_of.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "elf/loaded/elfsym.h"
#include "elf/loaded/object_at.h"

#define COPIES_MAX 8

void *sibling_find_symbol(const void *near, const char *name)
{
	struct provider p[COPIES_MAX];
	int n = elfsym_find_all(name, p, COPIES_MAX);

	for (int i = 0; near && i < n && i < COPIES_MAX; i++)
		if ((uintptr_t)near >= p[i].lo && (uintptr_t)near < p[i].hi)
			return p[i].addr;
	return n == 1 && !near ? p[0].addr : NULL;
}

struct find {
	uintptr_t base;
	char *buf;
	size_t bytes;
};

static void set_found_object(const struct loaded_object *o, void *arg)
{
	struct find *f = arg;
	const char *base = strrchr(o->info->dlpi_name, '/');

	f->base = o->lo;
	if (f->buf)
		snprintf(f->buf, f->bytes, "%s", base ? base + 1 : o->info->dlpi_name);
}

const char *sibling_copy_file_name(const void *near, char *buf, size_t bytes)
{
	struct find f = {0, buf, bytes};

	*buf = 0;
	elf_handle_object_at((uintptr_t)near, set_found_object, &f);
	return buf;
}

uintptr_t sibling_get_base(const void *near)
{
	struct find f = {0, NULL, 0};

	return near && elf_handle_object_at((uintptr_t)near, set_found_object, &f) ? f.base : 0;
}
