/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loaded object's tables for symbol lookups. Internal to elfsym.c and elf_scope.c, which use it
 * only under dl_iterate_phdr(), and to entry/early.c.
 */
#ifndef PROBE_ELF_ELF_OBJECT_H
#define PROBE_ELF_ELF_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/loaded/elfsym.h"
#include "elf/loaded/object_at.h"

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

/* The hash function of DT_HASH. */
uint32_t compute_sysv_hash(const char *s);

/* Fills in *o. Returns false if the object has no usable dynamic section. */
bool object_read(const struct dl_phdr_info *info, struct object *o);

/*
 * Like object_read(), from the loader's own list, if there is no program header: lo and hi
 * stay 0.
 */
bool object_of_map(const struct link_map *map, struct object *o);

/* Returns the object's definition that matches the search, or NULL. */
const ElfW(Sym) * object_find(const struct object *o, const struct search *s);

/* True if the object is one of libprobe's stub objects. */
bool object_is_stubs(const struct object *o);

#endif
