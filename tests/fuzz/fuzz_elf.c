/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared objects and loader caches of any bytes: no read after them, no endless loop. Seeds: small shared objects,
 * /etc/ld.so.cache.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Ipreload tests/fuzz/fuzz_elf.c \
 *		preload/elf/elf_file.c preload/elf/elf_search.c preload/elf/ld_cache.c preload/elf/loaded/elfsym.c
 */
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/elf_search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool function(const struct elf_function *fn, void *arg)
{
	size_t *sum = arg;

	*sum += strlen(fn->name);
	return *sum < 1 << 20;
}

static bool path(const char *p, void *arg)
{
	*(size_t *)arg += strlen(p);
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file f;
	size_t sum = 0, at = 0;
	const char *s;

	ld_cache_find_in(data, size, "libc.so.6", path, &sum);
	if (elf_file_open_memory(&f, data, size))
		return 0;
	elf_file_handle_functions(&f, function, &sum);
	while ((s = elf_file_needed(&f, &at)))
		sum += strlen(s);
	elf_file_has_function(&f, "a");
	elf_file_has_function(&f, "");
	if (f.soname)
		sum += strlen(f.soname);
	elf_file_close(&f);
	return sum == SIZE_MAX;
}
