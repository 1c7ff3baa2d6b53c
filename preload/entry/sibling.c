/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/sibling.h"

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "entry/elfsym.h"

#define COPIES_MAX 8

void *sibling_symbol(const void *near, const char *name)
{
	struct provider p[COPIES_MAX];
	int n = elfsym_all(name, p, COPIES_MAX);

	for (int i = 0; near && i < n && i < COPIES_MAX; i++)
		if ((uintptr_t)near >= p[i].lo && (uintptr_t)near < p[i].hi)
			return p[i].addr;
	return n == 1 && !near ? p[0].addr : NULL;
}

struct find {
	uintptr_t near, base;
	char *buf;
	size_t bytes;
};

static int holds(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct find *f = arg;
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	f->base = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && info->dlpi_addr + p->p_vaddr < f->base)
			f->base = info->dlpi_addr + p->p_vaddr;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || f->near < at || f->near >= at + p->p_memsz)
			continue;
		if (f->buf)
			snprintf(f->buf, f->bytes, "%s", base ? base + 1 : info->dlpi_name);
		return 1;
	}
	return 0;
}

const char *sibling_file(const void *near, char *buf, size_t bytes)
{
	struct find f = {(uintptr_t)near, 0, buf, bytes};

	*buf = 0;
	dl_iterate_phdr(holds, &f);
	return buf;
}

uintptr_t sibling_base(const void *near)
{
	struct find f = {(uintptr_t)near, 0, NULL, 0};

	return near && dl_iterate_phdr(holds, &f) ? f.base : 0;
}
