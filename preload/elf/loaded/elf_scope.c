/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the object that contains an address, the definitions in an object's scope, and the stub objects: the second part of
 * elfsym.h.
 */
#include "elf/loaded/elf_object.h"

#include <stddef.h>
#include <string.h>

/* ---- the object that contains an address ---- */

struct place_of_addr {
	uintptr_t addr;
	struct elf_place *out;
};

static void copy_place(const struct loaded_object *at, void *arg)
{
	const struct dl_phdr_info *info = at->info;
	struct place_of_addr *a = arg;
	struct object o;

	*a->out = (struct elf_place){.path = info->dlpi_name,
		.base = info->dlpi_addr,
		.us = at->us,
		.after_libprobe = at->after_libprobe};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X &&
			a->addr - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			a->out->code = true;
	}
	if (!object_read(info, &o) || !o.str)
		return;
	a->out->stubs = object_is_stubs(&o);
	for (const ElfW(Dyn) *d = o.dyn; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_RPATH)
			a->out->rpath = o.str + d->d_un.d_val;
		if (d->d_tag == DT_RUNPATH)
			a->out->runpath = o.str + d->d_un.d_val;
		if (d->d_tag == DT_FLAGS_1)
			a->out->no_default = d->d_un.d_val & DF_1_NODEFLIB;
	}
}

bool elfsym_find_place(uintptr_t addr, struct elf_place *out)
{
	struct place_of_addr a = {addr, out};

	return elf_handle_object_at(addr, copy_place, &a);
}

/* ---- definitions in an object and the objects that it needs ---- */

#define SCOPE_MAX 128

struct scope {
	struct search s;
	uintptr_t pc;
	struct object item[SCOPE_MAX];
	int n;
	const char *name; /* the name searched for: DT_NEEDED */
};

static const char *get_file_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_to_scope(struct scope *c, const struct dl_phdr_info *info)
{
	struct object o;

	if (!object_read(info, &o))
		return;
	for (int i = 0; i < c->n; i++)
		if (c->item[i].lo == o.lo)
			return;
	if (c->n < SCOPE_MAX && !(object_get_self() >= o.lo && object_get_self() < o.hi))
		c->item[c->n++] = o;
}

static void add_caller(const struct loaded_object *at, void *arg)
{
	add_to_scope(arg, at->info);
}

static int add_needed(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct scope *c = arg;
	struct object o;

	(void)size;
	if (strcmp(info->dlpi_name, c->name) && strcmp(get_file_part(info->dlpi_name), c->name) &&
		(!object_read(info, &o) || !o.soname || strcmp(o.soname, c->name)))
		return 0;
	add_to_scope(c, info);
	return 1;
}

static int handle_scope_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct scope *c = arg;

	/*
	 * The lock that keeps objects from being unloaded is held here, and the same thread may
	 * take it again: so objects can be searched by name while those found before stay loaded.
	 */
	(void)info;
	(void)size;
	elf_handle_object_at(c->pc, add_caller, c);
	for (int i = 0; i < c->n; i++) {
		const struct object *o = &c->item[i];
		const ElfW(Sym) *sym = object_is_stubs(o) ? NULL : object_find(o, &c->s);

		if (sym) {
			*c->s.out = (struct provider){.addr = (void *)(o->base + sym->st_value),
				.lo = o->lo,
				.hi = o->hi,
				.path = "",
				.ifunc = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC};
			return 1;
		}
		for (const ElfW(Dyn) *d = o->dyn; d->d_tag != DT_NULL; d++) {
			if (d->d_tag != DT_NEEDED)
				continue;
			c->name = o->str + d->d_un.d_val;
			dl_iterate_phdr(add_needed, c);
		}
	}
	return 2;
}

bool elfsym_find_in_scope(const char *name, uintptr_t pc, struct provider *out)
{
	struct scope c = {.pc = pc};

	c.s = (struct search){.name = name, .out = out, .max = 1};
	c.s.gnu = compute_gnu_hash(name);
	c.s.sysv = compute_sysv_hash(name);
	return dl_iterate_phdr(handle_scope_object, &c) == 1;
}

/* ---- libraries by name ---- */

static int has_name(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = arg;
	struct object o;

	(void)size;
	if (strcmp(info->dlpi_name, name) == 0)
		return 1;
	if (strchr(name, '/'))
		return 0;
	return (object_read(info, &o) && o.soname && strcmp(o.soname, name) == 0) ||
	       strcmp(get_file_part(info->dlpi_name), name) == 0;
}

bool elfsym_loaded(const char *name)
{
	return dl_iterate_phdr(has_name, (void *)(uintptr_t)name);
}

/* ---- stubs ---- */

struct each_stub {
	void (*visit)(const char *name, void *arg);
	void *arg;
};

static int handle_stub_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct each_stub *e = arg;
	struct object o;

	(void)size;
	if (!object_read(info, &o) || !object_is_stubs(&o))
		return 0;

	/*
	 * The table made by stub_elf.c: first the symbols that are not stubs, then those of all
	 * chains.
	 */
	const uint32_t *t = o.gnu_hash, *bucket = t + 4 + t[2] * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + t[0];
	uint32_t last = 0;

	for (uint32_t i = 0; i < t[0]; i++)
		last = bucket[i] > last ? bucket[i] : last;
	while (last && !(chain[last - t[1]] & 1))
		last++;
	for (uint32_t i = t[1]; i <= last; i++)
		e->visit(o.str + o.sym[i].st_name, e->arg);
	return 0;
}

void elfsym_handle_stubs(void (*visit)(const char *name, void *arg), void *arg)
{
	struct each_stub e = {visit, arg};

	dl_iterate_phdr(handle_stub_object, &e);
}
