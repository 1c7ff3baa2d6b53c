/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "elf/loaded/object_at.h"

static char self_path[4096];

static void copy_own_path(const struct loaded_object *o, void *arg)
{
	(void)arg;
	strncpy(self_path, o->info->dlpi_name, sizeof(self_path) - 1);
}

const char *own_path_get(void)
{
	if (!self_path[0])
		elf_handle_object_at((uintptr_t)&copy_own_path, copy_own_path, NULL);
	return self_path;
}
