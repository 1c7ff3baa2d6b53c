/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/elfsym.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "entry/stub_elf.h"

struct object {
	ElfW(Addr) base;
	uintptr_t lo, hi;
	const ElfW(Sym) * sym;
	const char *str;
	const uint32_t *gnu_hash, *sysv_hash;
	const ElfW(Half) * versym;
	const ElfW(Dyn) * dyn;
	const char *soname; /* NULL: none */
};

struct search {
	const char *name;
	uint32_t gnu, sysv;
	struct provider *out;
	int max, found;
	bool any_type, only_after, only_before, passed_us, stubs;
};

uint32_t elfsym_hash(const char *s)
{
	uint32_t h = 5381;

	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

static uint32_t hash_sysv(const char *s)
{
	uint32_t h = 0;

	while (*s) {
		h = (h << 4) + (unsigned char)*s++;
		uint32_t g = h & 0xf0000000;

		h ^= g >> 24;
		h &= ~g;
	}
	return h;
}

static void bounds(const struct dl_phdr_info *info, uintptr_t *lo, uintptr_t *hi)
{
	*lo = UINTPTR_MAX;
	*hi = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + p->p_vaddr < *lo)
			*lo = info->dlpi_addr + p->p_vaddr;
		if (info->dlpi_addr + p->p_vaddr + p->p_memsz > *hi)
			*hi = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
}

static bool describe(const struct dl_phdr_info *info, struct object *o)
{
	const ElfW(Dyn) *dyn = NULL;
	uintptr_t soname = 0;

	*o = (struct object){.base = info->dlpi_addr};
	bounds(info, &o->lo, &o->hi);
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	if (!dyn)
		return false;
	o->dyn = dyn;
	for (; dyn->d_tag != DT_NULL; dyn++) {
		/* glibc has made these absolute, but not in objects it does not relocate (the vdso). */
		uintptr_t v = dyn->d_un.d_ptr < o->lo ? dyn->d_un.d_ptr + o->base : dyn->d_un.d_ptr;

		switch (dyn->d_tag) {
		case DT_SYMTAB:
			o->sym = (const void *)v;
			break;
		case DT_STRTAB:
			o->str = (const void *)v;
			break;
		case DT_GNU_HASH:
			o->gnu_hash = (const void *)v;
			break;
		case DT_HASH:
			o->sysv_hash = (const void *)v;
			break;
		case DT_VERSYM:
			o->versym = (const void *)v;
			break;
		case DT_SONAME:
			soname = dyn->d_un.d_val;
			break;
		}
	}
	if (o->str && soname)
		o->soname = o->str + soname;
	return o->sym && o->str && (o->gnu_hash || o->sysv_hash);
}

static bool fits(const struct object *o, const struct search *s, uint32_t i)
{
	const ElfW(Sym) *sym = &o->sym[i];
	int type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || (sym->st_value == 0 && type != STT_TLS) ||
		type == STT_TLS)
		return false;
	if (!s->any_type && type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	/* A hidden version (foo@OLD) is not what a new reference binds to; in a stub object it is (stub_elf.h). */
	if (!s->stubs && o->versym && o->versym[i] & 0x8000)
		return false;
	return strcmp(o->str + sym->st_name, s->name) == 0;
}

static bool is_stub_object(const struct object *o)
{
	return o->soname && strcmp(o->soname, STUB_SONAME) == 0;
}

static const ElfW(Sym) * find(const struct object *o, const struct search *s)
{
	if (o->gnu_hash) {
		const uint32_t *t = o->gnu_hash;
		uint32_t nbuckets = t[0], first = t[1], words = t[2], shift = t[3];
		const ElfW(Addr) *bloom = (const void *)(t + 4);
		const uint32_t *bucket = (const void *)(bloom + words);
		const uint32_t *chain = bucket + nbuckets;
		const unsigned bits = 8 * sizeof(ElfW(Addr));

		if (!nbuckets || !words)
			return NULL;

		ElfW(Addr) w = bloom[s->gnu / bits % words];

		if (!(w >> s->gnu % bits & w >> (s->gnu >> shift) % bits & 1))
			return NULL;

		uint32_t i = bucket[s->gnu % nbuckets];

		if (i < first)
			return NULL;
		for (;; i++) {
			uint32_t h = chain[i - first];

			if ((h | 1) == (s->gnu | 1) && fits(o, s, i))
				return &o->sym[i];
			if (h & 1)
				return NULL;
		}
	}

	const uint32_t *t = o->sysv_hash;

	if (!t[0])
		return NULL;
	for (uint32_t i = t[2 + s->sysv % t[0]]; i; i = t[2 + t[0] + i])
		if (fits(o, s, i))
			return &o->sym[i];
	return NULL;
}

static uintptr_t self(void)
{
	static const char here;

	return (uintptr_t)&here;
}

static int each(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct object o;
	uintptr_t lo, hi;

	(void)size;
	bounds(info, &lo, &hi);
	if (self() >= lo && self() < hi) {
		s->passed_us = true;
		return s->only_before;
	}
	if ((s->only_after && !s->passed_us) || !describe(info, &o))
		return 0;

	const ElfW(Sym) *sym = find(&o, s);

	if (!sym || is_stub_object(&o) != s->stubs)
		return 0;
	if (s->found < s->max)
		s->out[s->found] = (struct provider){
			.addr = (void *)(o.base + sym->st_value),
			.lo = o.lo,
			.hi = o.hi,
			.path = info->dlpi_name,
			.ifunc = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC,
		};
	s->found++;
	return 0;
}

static int search(struct search *s)
{
	s->gnu = elfsym_hash(s->name);
	s->sysv = hash_sysv(s->name);
	dl_iterate_phdr(each, s);
	return s->found;
}

int elfsym_after_us(const char *name, struct provider *out, int max)
{
	struct search s = {.name = name, .out = out, .max = max, .only_after = true};

	return search(&s);
}

int elfsym_all(const char *name, struct provider *out, int max)
{
	struct search s = {.name = name, .out = out, .max = max};

	return search(&s);
}

void *elfsym_data(const char *name)
{
	struct provider p;
	struct search s = {.name = name, .out = &p, .max = 1, .any_type = true};

	return search(&s) ? p.addr : NULL;
}

bool elfsym_before_us(const char *name)
{
	struct search s = {.name = name, .only_before = true};

	return search(&s);
}

bool elfsym_stub(const char *name, struct provider *out)
{
	struct search s = {.name = name, .out = out, .max = 1, .stubs = true};

	return search(&s);
}

struct own {
	struct object o;
	bool ok;
};

static int describe_us(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct own *us = arg;
	uintptr_t lo, hi;

	(void)size;
	bounds(info, &lo, &hi);
	if (self() < lo || self() >= hi)
		return 0;
	us->ok = describe(info, &us->o);
	return 1;
}

bool elfsym_own(const char *name)
{
	/* We are never unloaded, and all threads that are here for the first time find the same. */
	static struct own us;
	static _Atomic int known; /* 1: a thread fills it in, 2: it is there */
	struct search s = {.name = name, .gnu = elfsym_hash(name), .sysv = hash_sysv(name)};
	struct own mine = {.ok = false};
	int none = 0;

	if (known == 2)
		return us.ok && find(&us.o, &s);
	dl_iterate_phdr(describe_us, &mine);
	if (__builtin_expect(atomic_compare_exchange_strong(&known, &none, 1), 1)) {
		us = mine;
		known = 2;
	}
	return mine.ok && find(&mine.o, &s);
}

/* ---- places ---- */

struct at {
	uintptr_t addr;
	struct elf_place *out;
	bool passed_us;
};

static int find_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct at *a = arg;
	struct object o;
	uintptr_t lo, hi;

	(void)size;
	bounds(info, &lo, &hi);
	a->passed_us |= self() >= lo && self() < hi;
	if (a->addr < lo || a->addr >= hi)
		return 0;
	*a->out = (struct elf_place){.path = info->dlpi_name,
		.base = info->dlpi_addr,
		.us = self() >= lo && self() < hi,
		.behind_us = a->passed_us};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X &&
			a->addr - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			a->out->code = true;
	}
	if (!describe(info, &o) || !o.str)
		return 1;
	a->out->stubs = is_stub_object(&o);
	for (const ElfW(Dyn) *d = o.dyn; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_RPATH)
			a->out->rpath = o.str + d->d_un.d_val;
		if (d->d_tag == DT_RUNPATH)
			a->out->runpath = o.str + d->d_un.d_val;
		if (d->d_tag == DT_FLAGS_1)
			a->out->no_default = d->d_un.d_val & DF_1_NODEFLIB;
	}
	return 1;
}

bool elfsym_place(uintptr_t addr, struct elf_place *out)
{
	struct at a = {addr, out, false};

	return dl_iterate_phdr(find_place, &a);
}

/* ---- what an object and the objects that it needs define ---- */

#define SCOPE_MAX 128

struct scope {
	struct search s;
	uintptr_t pc;
	struct object item[SCOPE_MAX];
	int n;
	const char *name; /* being looked for: DT_NEEDED, or NULL: the object around pc */
};

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int add_to_scope(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct scope *c = arg;
	struct object o;

	(void)size;
	if (!c->name) {
		uintptr_t lo, hi;

		bounds(info, &lo, &hi);
		if (c->pc < lo || c->pc >= hi)
			return 0;
	} else if (strcmp(info->dlpi_name, c->name) && strcmp(file_of(info->dlpi_name), c->name)) {
		if (!describe(info, &o) || !o.soname || strcmp(o.soname, c->name))
			return 0;
	}
	if (!describe(info, &o))
		return 1;
	for (int i = 0; i < c->n; i++)
		if (c->item[i].lo == o.lo)
			return 1;
	if (c->n < SCOPE_MAX && !(self() >= o.lo && self() < o.hi))
		c->item[c->n++] = o;
	return 1;
}

static int walk_scope(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct scope *c = arg;

	/*
	 * The lock that keeps objects from being unloaded is held here and may be taken again by the same thread: so
	 * objects can be looked for by name while those found before stay where they are.
	 */
	(void)info;
	(void)size;
	dl_iterate_phdr(add_to_scope, c);
	for (int i = 0; i < c->n; i++) {
		const struct object *o = &c->item[i];
		const ElfW(Sym) *sym = is_stub_object(o) ? NULL : find(o, &c->s);

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
			dl_iterate_phdr(add_to_scope, c);
		}
	}
	return 2;
}

bool elfsym_scope(const char *name, uintptr_t pc, struct provider *out)
{
	struct scope c = {.pc = pc};

	c.s = (struct search){.name = name, .out = out, .max = 1};
	c.s.gnu = elfsym_hash(name);
	c.s.sysv = hash_sysv(name);
	return dl_iterate_phdr(walk_scope, &c) == 1;
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
	return (describe(info, &o) && o.soname && strcmp(o.soname, name) == 0) ||
	       strcmp(file_of(info->dlpi_name), name) == 0;
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

static int visit_stubs(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct each_stub *e = arg;
	struct object o;

	(void)size;
	if (!describe(info, &o) || !is_stub_object(&o))
		return 0;

	/* The table of stub_elf.c: FIRST symbols that are no stubs, then as many as the chains say. */
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

void elfsym_each_stub(void (*visit)(const char *name, void *arg), void *arg)
{
	struct each_stub e = {visit, arg};

	dl_iterate_phdr(visit_stubs, &e);
}
