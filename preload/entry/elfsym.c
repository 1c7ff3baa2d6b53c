/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/elf_object.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "entry/stub_elf.h"

uint32_t elfsym_hash(const char *s)
{
	uint32_t h = 5381;

	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

uint32_t object_hash_sysv(const char *s)
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

void object_bounds(const struct dl_phdr_info *info, uintptr_t *lo, uintptr_t *hi)
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

bool object_describe(const struct dl_phdr_info *info, struct object *o)
{
	const ElfW(Dyn) *dyn = NULL;
	uintptr_t soname = 0;

	*o = (struct object){.base = info->dlpi_addr};
	object_bounds(info, &o->lo, &o->hi);
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

bool object_is_stubs(const struct object *o)
{
	return o->soname && strcmp(o->soname, STUB_SONAME) == 0;
}

const ElfW(Sym) * object_find(const struct object *o, const struct search *s)
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

uintptr_t object_self(void)
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
	object_bounds(info, &lo, &hi);
	if (object_self() >= lo && object_self() < hi) {
		s->passed_us = true;
		return s->only_before;
	}
	if ((s->only_after && !s->passed_us) || !object_describe(info, &o))
		return 0;

	const ElfW(Sym) *sym = object_find(&o, s);

	if (!sym || object_is_stubs(&o) != s->stubs)
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
	s->sysv = object_hash_sysv(s->name);
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
	object_bounds(info, &lo, &hi);
	if (object_self() < lo || object_self() >= hi)
		return 0;
	us->ok = object_describe(info, &us->o);
	return 1;
}

bool elfsym_own(const char *name)
{
	/* We are never unloaded, and all threads that are here for the first time find the same. */
	static struct own us;
	static _Atomic int known; /* 1: a thread fills it in, 2: it is there */
	struct search s = {.name = name, .gnu = elfsym_hash(name), .sysv = object_hash_sysv(name)};
	struct own mine = {.ok = false};
	int none = 0;

	if (known == 2)
		return us.ok && object_find(&us.o, &s);
	dl_iterate_phdr(describe_us, &mine);
	if (__builtin_expect(atomic_compare_exchange_strong(&known, &none, 1), 1)) {
		us = mine;
		known = 2;
	}
	return mine.ok && object_find(&mine.o, &s);
}
