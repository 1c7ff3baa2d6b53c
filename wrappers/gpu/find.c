/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "elf/loaded/elfsym.h"
#include "wrappers/gpu/gpu.h"

void *gpu_find_function(const char *name, const char *library)
{
	struct provider p[8];
	int n = elfsym_find_all(name, p, 8);

	for (int i = 0; i < n && i < 8; i++) {
		const char *base = strrchr(p[i].path, '/');

		if (strncmp(base ? base + 1 : p[i].path, library, strlen(library)) == 0)
			return p[i].addr;
	}
	return NULL;
}

size_t gpu_find_functions(const struct gpu_function *f, size_t n, const char *library)
{
	for (size_t i = 0; i < n; i++) {
		void *at = gpu_find_function(f[i].name, library);

		if (!at)
			return i;
		memcpy(f[i].at, &at, sizeof(at));
	}
	return n;
}
