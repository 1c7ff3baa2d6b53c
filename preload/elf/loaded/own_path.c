/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "elf/loaded/object_at.h"

static char self_path[4096];

static void keep_path(const struct loaded_object *o, void *arg)
{
	(void)arg;
	strncpy(self_path, o->info->dlpi_name, sizeof(self_path) - 1);
}

const char *startup_path(void)
{
	if (!self_path[0])
		elf_object_at((uintptr_t)&keep_path, keep_path, NULL);
	return self_path;
}
