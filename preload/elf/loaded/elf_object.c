/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Also runs before the constructor (early.c), so no function of libc may be called here, not even
 * by code that the compiler inserts.
 */
#include "elf/loaded/elf_object.h"

#include <stddef.h>

#include "base/at_start.h"
#include "elf/loaded/elfsym.h"

START_CODE uint32_t compute_gnu_hash(const char *s)
{
	uint32_t h = 5381;

	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

START_CODE uint32_t compute_sysv_hash(const char *s)
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

START_CODE void get_object_bounds(const struct dl_phdr_info *info, uintptr_t *lo, uintptr_t *hi)
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

/*
 * If d_ptr is below lo, it is relative. glibc has made these absolute, but not in objects that it
 * does not relocate (the vdso); musl never does.
 */
START_CODE static bool read_object_tables(const ElfW(Dyn) * dyn, uintptr_t lo, struct object *o)
{
	uintptr_t soname = 0;

	o->dyn = dyn;
	for (; dyn->d_tag != DT_NULL; dyn++) {
		uintptr_t v = dyn->d_un.d_ptr < lo ? dyn->d_un.d_ptr + o->base : dyn->d_un.d_ptr;

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

START_CODE bool object_read(const struct dl_phdr_info *info, struct object *o)
{
	const ElfW(Dyn) *dyn = NULL;

	*o = (struct object){.base = info->dlpi_addr};
	get_object_bounds(info, &o->lo, &o->hi);
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return dyn && read_object_tables(dyn, o->lo, o);
}

bool object_of_map(const struct link_map *map, struct object *o)
{
	*o = (struct object){.base = map->l_addr};
	return map->l_ld && read_object_tables(map->l_ld, map->l_addr, o);
}

static bool is_same_text(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

START_CODE static bool is_symbol_wanted(const struct object *o, const struct search *s, uint32_t i)
{
	const ElfW(Sym) *sym = &o->sym[i];
	int type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || (sym->st_value == 0 && type != STT_TLS) ||
		type == STT_TLS)
		return false;
	if (!s->any_type && type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	/* New references do not bind to a hidden version (foo@OLD), except in a stub object (stub_elf.h). */
	if (!s->stubs && o->versym && o->versym[i] & 0x8000)
		return false;
	return is_same_text(o->str + sym->st_name, s->name);
}

START_CODE bool object_is_stubs(const struct object *o)
{
	static START_CONST const char name[] = STUB_SONAME;

	return o->soname && is_same_text(o->soname, name);
}

START_CODE const ElfW(Sym) * object_find(const struct object *o, const struct search *s)
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

			if ((h | 1) == (s->gnu | 1) && is_symbol_wanted(o, s, i))
				return &o->sym[i];
			if (h & 1)
				return NULL;
		}
	}

	const uint32_t *t = o->sysv_hash;

	if (!t[0])
		return NULL;
	for (uint32_t i = t[2 + s->sysv % t[0]]; i; i = t[2 + t[0] + i])
		if (is_symbol_wanted(o, s, i))
			return &o->sym[i];
	return NULL;
}
