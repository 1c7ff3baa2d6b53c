/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "elf/loaded/elf_note.h"
#include "elf/loaded/modules.h"

struct tell {
	void (*fn)(void *arg, const struct module *m);
	void *arg;
	uint64_t vdso;
	char exe[MODULE_PATH_MAX];
};

static int get_loader_counters(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

uint64_t modules_get_generation(void)
{
	uint64_t g = 0;

	/* Both counters only grow, so their sum changes with either. */
	dl_iterate_phdr(get_loader_counters, &g);
	return g;
}

/* Stores a path. One that does not fit is dropped: cut, it might name another file. */
static void set_path(struct module *m, const char *path)
{
	size_t n = strlen(path);

	if (n < sizeof(m->path))
		memcpy(m->path, path, n + 1);
}

static void find_range(const struct dl_phdr_info *info, struct module *m)
{
	m->lo = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t a = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !ph->p_memsz)
			continue;
		if (a < m->lo)
			m->lo = a;
		if (a + ph->p_memsz > m->hi)
			m->hi = a + ph->p_memsz;
	}
}

static void find_build_id(const struct dl_phdr_info *info, struct module *m)
{
	for (int i = 0; i < info->dlpi_phnum && !m->build_id_len; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t a = info->dlpi_addr + ph->p_vaddr;

		/* Notes outside the load segments are only in the file. */
		if (ph->p_type != PT_NOTE || a < m->lo || a > m->hi || ph->p_memsz > m->hi - a)
			continue;
		m->build_id_len = elf_note_copy_build_id(
			(const void *)(uintptr_t)a, ph->p_memsz, ph->p_align, m->build_id);
	}
}

static int handle_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct tell *t = arg;
	struct module m = {.bias = info->dlpi_addr};

	(void)size;
	find_range(info, &m);
	if (m.lo >= m.hi)
		return 0;
	find_build_id(info, &m);
	if (t->vdso >= m.lo && t->vdso < m.hi)
		set_path(&m, "[vdso]");
	else if (info->dlpi_name && *info->dlpi_name)
		set_path(&m, info->dlpi_name);
	else
		set_path(&m, t->exe);
	t->exe[0] = '\0'; /* the executable comes first */
	t->fn(t->arg, &m);
	return 0;
}

void modules_handle_each(void (*fn)(void *arg, const struct module *m), void *arg)
{
	struct tell t = {.fn = fn, .arg = arg, .vdso = getauxval(AT_SYSINFO_EHDR)};
	int saved = errno;
	ssize_t n = readlink("/proc/self/exe", t.exe, sizeof(t.exe));

	/* If the buffer is full, the path was cut. */
	if (n < 0 || (size_t)n >= sizeof(t.exe))
		n = 0;
	t.exe[n] = '\0';
	dl_iterate_phdr(handle_module, &t);
	errno = saved;
}
