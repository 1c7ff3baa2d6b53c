/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_object.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/at_start.h"

START_CODE static int search_loaded_object(struct dl_phdr_info *info, size_t size, void *arg)
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

static int search_loaded_objects(struct search *s)
{
	s->gnu = elfsym_hash(s->name);
	s->sysv = object_hash_sysv(s->name);
	dl_iterate_phdr(search_loaded_object, s);
	return s->found;
}

int elfsym_after_us(const char *name, struct provider *out, int max)
{
	struct search s = {.name = name, .out = out, .max = max, .only_after = true};

	return search_loaded_objects(&s);
}

int elfsym_all(const char *name, struct provider *out, int max)
{
	struct search s = {.name = name, .out = out, .max = max};

	return search_loaded_objects(&s);
}

START_CODE void *elfsym_data(const char *name)
{
	struct provider p;
	struct search s = {.name = name, .out = &p, .max = 1, .any_type = true};

	return search_loaded_objects(&s) ? p.addr : NULL;
}

bool elfsym_before_us(const char *name)
{
	struct search s = {.name = name, .only_before = true};

	return search_loaded_objects(&s);
}

bool elfsym_stub(const char *name, struct provider *out)
{
	struct search s = {.name = name, .out = out, .max = 1, .stubs = true};

	return search_loaded_objects(&s);
}

struct own {
	struct object o;
	bool ok;
};

static void describe_us(const struct loaded_object *at, void *arg)
{
	struct own *us = arg;

	us->ok = object_describe(at->info, &us->o);
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
	elf_object_at(object_self(), describe_us, &mine);
	if (__builtin_expect(atomic_compare_exchange_strong(&known, &none, 1), 1)) {
		us = mine;
		known = 2;
	}
	return mine.ok && object_find(&mine.o, &s);
}
