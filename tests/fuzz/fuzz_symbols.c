/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of ELF files meets any bytes. Seeds: small shared objects. Built with the sources of preload/stack:
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Ipreload tests/fuzz/fuzz_symbols.c \
 *		preload/elf/elf_lookup.c preload/elf/elf_symbols.c preload/elf/symbols.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_symbols.h"
#include "elf/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};

/* A build id that the file might have: else most of the reader would never be reached. */
static void find_id(const uint8_t *data, size_t size, struct module *m)
{
	const uint8_t *p = memmem(data, size, note, sizeof(note));

	if (!p || size - (size_t)(p - data) < sizeof(note) + 20)
		return;
	memcpy(m->build_id, p + sizeof(note), 20);
	m->build_id_len = 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct module m = {.lo = 0x1000, .hi = UINT64_MAX, .bias = 0x1000};
	struct symbols *s = symbols_init(1 << 20);
	int fd = memfd_create("elf", 0);
	struct elf_symbols t;
	char buf[300];

	if (!s || fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	find_id(data, size, &m);
	snprintf(m.path, sizeof(m.path), "/proc/self/fd/%d", fd);
	symbols_set_debug_dir(s, "/nowhere");
	symbols_add_module(s, &m);
	symbols_format_name(s, 0x2001, buf, sizeof(buf));
	symbols_format_name(s, UINT64_MAX - 3, buf, sizeof(buf));
	if (!elf_symbols_load(&t, m.path, m.build_id, m.build_id_len, 1 << 20)) {
		for (uint32_t i = 0; i < t.n && i < 200; i++) {
			uint64_t start;

			if (i && t.v[i].off < t.v[i - 1].off)
				abort(); /* not sorted */
			if (!elf_symbols_find_name(
				    &t, t.base + t.v[i].off, buf, sizeof(buf), &start) &&
				(start > t.base + t.v[i].off || strlen(buf) >= sizeof(buf)))
				abort();
			symbols_format_name(s, m.bias + t.base + t.v[i].off + 1, buf, sizeof(buf));
		}
		/* Cut off between reading the table and the names. */
		if (ftruncate(fd, (off_t)size / 2) == 0)
			symbols_format_name(s, m.bias + t.base + 7, buf, sizeof(buf));
		elf_symbols_free(&t);
	}
	symbols_free(s);
	close(fd);
	return 0;
}
