/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "elf/memory.h"
#include "elf/loaded/object_at.h"
#include "stack/objects.h"

/* ThreadSanitizer does not know the loader's lock, and would report the table as unprotected. */
#define LOADER_LOCKED MEMORY_RAW

/*
 * `busy` is set while a callback runs. Code that finds it set is in a signal handler that
 * interrupted the callback (the lock is recursive), or in a forked child of a thread that ran
 * one. It must not touch the table, and searches the objects one by one instead.
 */
static struct {
	struct object *v;
	uint32_t n, cap;
	uint64_t generation;
	bool busy, valid;
} table;

struct lookup {
	uintptr_t pc;
	void (*fn)(void *arg, const struct object *o);
	void *arg;
	bool found;
};

struct collect {
	uint32_t n;
};

static void update_address_bounds(uintptr_t *lo, uintptr_t *hi, uintptr_t a, uintptr_t b)
{
	if (*lo == *hi) {
		*lo = a;
		*hi = b;
		return;
	}
	if (a < *lo)
		*lo = a;
	if (b > *hi)
		*hi = b;
}

/*
 * Ignores a segment that includes the last byte of the address space, because its end would wrap
 * around.
 */
static bool get_segment_bounds(
	const struct dl_phdr_info *info, const ElfW(Phdr) * ph, uintptr_t *a, uintptr_t *b)
{
	*a = info->dlpi_addr + ph->p_vaddr;
	*b = *a + ph->p_memsz;
	return *b > *a;
}

static bool read_object(const struct dl_phdr_info *info, struct object *o)
{
	uintptr_t a, b;

	memset(o, 0, sizeof(*o));
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (!get_segment_bounds(info, ph, &a, &b))
			continue;
		if (ph->p_type == PT_GNU_EH_FRAME)
			o->table = a;
		if (ph->p_type != PT_LOAD)
			continue;
		update_address_bounds(&o->lo, &o->hi, a, b);
		if (!(ph->p_flags & PF_X))
			continue;
		/*
		 * If there are several executable segments, the memory between them may be
		 * anything.
		 */
		o->text_readable = o->text_lo == o->text_hi && (ph->p_flags & PF_R);
		update_address_bounds(&o->text_lo, &o->text_hi, a, b);
	}
	for (int i = 0; o->table && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_R) ||
			!get_segment_bounds(info, ph, &a, &b))
			continue;
		if (o->table >= a && o->table < b) {
			o->table_lo = a;
			o->table_hi = b;
		}
	}
	if (!o->table_hi)
		o->table = 0;
	return o->hi > o->lo;
}

LOADER_LOCKED static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct collect *c = arg;
	struct object o;

	(void)size;
	if (!read_object(info, &o))
		return 0;
	if (c->n < table.cap)
		table.v[c->n] = o;
	c->n++;
	return 0;
}

LOADER_LOCKED static void set_object_order(struct object *v, uint32_t n)
{
	for (uint32_t gap = n / 2; gap > 0; gap /= 2) {
		for (uint32_t i = gap; i < n; i++) {
			struct object o = v[i];
			uint32_t j = i;

			for (; j >= gap && v[j - gap].lo > o.lo; j -= gap)
				v[j] = v[j - gap];
			v[j] = o;
		}
	}
}

/* Not in the data segment: most processes with the preload never walk a stack. */
LOADER_LOCKED static bool reserve_object_table(uint32_t need)
{
	uint32_t cap = 128;
	void *p;

	while (cap < need)
		cap *= 2;
	p = mmap(NULL, cap * sizeof(*table.v), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (p == MAP_FAILED)
		return false;
	if (table.v)
		munmap(table.v, table.cap * sizeof(*table.v));
	table.v = p;
	table.cap = cap;
	return true;
}

LOADER_LOCKED static void update_object_table(uint64_t generation)
{
	struct collect c = {0};

	table.valid = false;
	table.n = 0;
	dl_iterate_phdr(add_object, &c);
	if (c.n > table.cap) {
		if (!reserve_object_table(c.n))
			return;
		c.n = 0;
		dl_iterate_phdr(add_object, &c);
	}
	table.n = c.n;
	set_object_order(table.v, table.n);
	table.generation = generation;
	table.valid = true;
}

LOADER_LOCKED static const struct object *find_in_object_table(uintptr_t pc)
{
	uint32_t lo = 0, hi = table.n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (table.v[mid].lo <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && pc < table.v[lo - 1].hi ? &table.v[lo - 1] : NULL;
}

static void handle_lookup_object(const struct loaded_object *at, void *arg)
{
	struct lookup *l = arg;
	struct object o;

	if (!read_object(at->info, &o) || l->pc < o.lo || l->pc >= o.hi)
		return;
	l->found = true;
	l->fn(l->arg, &o);
}

LOADER_LOCKED static int find_object_locked(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct lookup *l = arg;
	uint64_t generation = info->dlpi_adds + info->dlpi_subs;
	const struct object *o;

	(void)size;
	if (table.busy) {
		elf_handle_object_at(l->pc, handle_lookup_object, l);
		return 1;
	}
	table.busy = true;
	if (!table.valid || table.generation != generation)
		update_object_table(generation);
	if (table.valid) {
		o = find_in_object_table(l->pc);
		if (o) {
			l->found = true;
			l->fn(l->arg, o);
		}
	} else {
		elf_handle_object_at(l->pc, handle_lookup_object, l);
	}
	table.busy = false;
	return 1;
}

bool objects_find(uintptr_t pc, void (*fn)(void *arg, const struct object *o), void *arg)
{
	struct lookup l = {.pc = pc, .fn = fn, .arg = arg};
	int saved = errno;

	dl_iterate_phdr(find_object_locked, &l);
	errno = saved;
	return l.found;
}
